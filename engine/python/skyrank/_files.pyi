def open_files(
    patterns: list[str],
    header: bool | None,
    null_spellings: list[str],
    delimiter: str | None,
    format: str | None,
    types: dict[str, str],
    form: dict[str, str],
    main_thread: bool,
    timeout: float,
) -> tuple[object, list[str]]: ...
def open_table(described: object, folder: str, main_thread: bool) -> object: ...
def hear_stops(stops: object) -> None: ...
def partial_of_bytes(content: bytes) -> tuple[object, object]: ...
