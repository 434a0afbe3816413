def open_files(
    patterns: list[str],
    header: bool,
    null_spellings: list[str],
    delimiter: str | None,
    format: str | None,
    types: dict[str, str],
    main_thread: bool,
    timeout: float,
) -> object: ...
def hear_stops(stops: object) -> None: ...
def partial_of_bytes(content: bytes) -> tuple[object, object]: ...
