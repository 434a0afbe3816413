"""Parquet metadata as Python values, so that tests can change what a file says of itself.

A struct of Thrift's compact protocol is a dict from field number to [type, value], and a list is a `List`.
"""

import struct

BOOL_TRUE, BOOL_FALSE, BYTE, I16, I32, I64, DOUBLE, BINARY, LIST, SET, STRUCT = 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12


class List(list):
    """A list whose members have one type."""

    def __init__(self, of, values=()):
        super().__init__(values)
        self.of = of


def read_varint(data, at):
    """Returns an unsigned integer, and the place after it."""
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return value, at


def write_varint(value):
    """Returns the bytes of an unsigned integer."""
    value &= (1 << 64) - 1
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)


def read_value(data, at, kind):
    """Returns a value of a type, and the place after it."""
    if kind == BYTE:
        return data[at], at + 1
    if kind in (I16, I32, I64):
        value, at = read_varint(data, at)
        return (value >> 1) ^ -(value & 1), at
    if kind == DOUBLE:
        return data[at:at + 8], at + 8
    if kind == BINARY:
        size, at = read_varint(data, at)
        return bytes(data[at:at + size]), at + size
    if kind in (LIST, SET):
        size, of = data[at] >> 4, data[at] & 15
        at += 1
        if size == 15:
            size, at = read_varint(data, at)
        members = List(of)
        for _ in range(size):
            member, at = read_value(data, at, BYTE if of in (BOOL_TRUE, BOOL_FALSE) else of)
            members.append(member)
        return members, at
    return read_struct(data, at)


def read_struct(data, at):
    """Returns a struct, and the place after it."""
    fields = {}
    number = 0
    while data[at] != 0:
        kind, step = data[at] & 15, data[at] >> 4
        at += 1
        if step:
            number += step
        else:
            number, at = read_value(data, at, I16)
        if kind in (BOOL_TRUE, BOOL_FALSE):
            fields[number] = [kind, kind == BOOL_TRUE]
        else:
            value, at = read_value(data, at, kind)
            fields[number] = [kind, value]
    return fields, at + 1


def write_value(kind, value):
    """Returns the bytes of a value of a type."""
    if kind == BYTE:
        return bytes([value])
    if kind in (I16, I32, I64):
        return write_varint((value << 1) ^ (value >> 63))
    if kind == DOUBLE:
        return value
    if kind == BINARY:
        return write_varint(len(value)) + value
    if kind in (LIST, SET):
        of = BYTE if value.of in (BOOL_TRUE, BOOL_FALSE) else value.of
        size = bytes([len(value) << 4 | value.of]) if len(value) < 15 else \
            bytes([15 << 4 | value.of]) + write_varint(len(value))
        return size + b"".join(write_value(of, member) for member in value)
    return write_struct(value)


def write_struct(fields):
    """Returns the bytes of a struct."""
    out = bytearray()
    last = 0
    for number, (kind, value) in sorted(fields.items()):
        if kind in (BOOL_TRUE, BOOL_FALSE):
            kind = BOOL_TRUE if value else BOOL_FALSE
        step = number - last
        out += bytes([step << 4 | kind]) if 0 < step < 16 else bytes([kind]) + write_value(I16, number)
        last = number
        if kind not in (BOOL_TRUE, BOOL_FALSE):
            out += write_value(kind, value)
    return bytes(out) + b"\0"


class ParquetBytes:
    """A Parquet file in memory, of which metadata can be changed."""

    def __init__(self, content):
        size = struct.unpack("<I", content[-8:-4])[0]
        self.body = bytearray(content[:-8 - size])
        self.footer, _ = read_struct(content, len(content) - 8 - size)

    def content(self):
        """Returns the bytes of the file as it is now."""
        footer = write_struct(self.footer)
        return bytes(self.body) + footer + struct.pack("<I", len(footer)) + b"PAR1"

    def groups(self):
        """Returns the structs RowGroup."""
        return self.footer[4][1]

    def chunk(self, group, column):
        """Returns the struct ColumnChunk, which has the places of indexes."""
        return self.groups()[group][1][1][column]

    def metadata(self, group, column):
        """Returns the struct ColumnMetaData."""
        return self.chunk(group, column)[3][1]

    def statistics(self, group, column):
        """Returns the struct Statistics of a column chunk."""
        return self.metadata(group, column)[12][1]

    def set_bounds(self, group, column, least, greatest):
        """Sets all bounds of a column chunk, those in the deprecated fields where these are there."""
        bounds = self.statistics(group, column)
        for field, value in ((2, least), (1, greatest), (6, least), (5, greatest)):
            if field > 2 or field in bounds:
                bounds[field] = [BINARY, value]

    def change_index(self, group, column, which, change):
        """Calls change(index) for the struct OffsetIndex (`which` is 4) or ColumnIndex (6) of a column chunk."""
        chunk = self.chunk(group, column)
        index, _ = read_struct(self.body, chunk[which][1])
        change(index)
        content = write_struct(index)
        chunk[which] = [I64, len(self.body)]
        chunk[which + 1] = [I32, len(content)]
        self.body += content

    def pages(self, group, column):
        """Yields place, header and place of the content of each page of a column chunk."""
        metadata = self.metadata(group, column)
        at = min(metadata[field][1] for field in (9, 11) if field in metadata)
        end = at + metadata[7][1]
        while at < end:
            header, content = read_struct(self.body, at)
            yield at, header, content
            at = content + header[3][1]

    def change_pages(self, group, column, change):
        """Calls change(header, number) for the struct PageHeader of each data page; drops the index of the chunk."""
        metadata = self.metadata(group, column)
        pages = list(self.pages(group, column))
        begin = len(self.body)
        number = 0
        for _, header, content in pages:
            size = header[3][1]
            if header[1][1] != 2:
                metadata[9] = [I64, len(self.body)] if number == 0 else metadata[9]
                change(header, number)
                number += 1
            else:
                metadata[11] = [I64, len(self.body)]
            self.body += write_struct(header) + self.body[content:content + size]
        metadata[7] = [I64, len(self.body) - begin]
        for field in (4, 5, 6, 7):
            self.chunk(group, column).pop(field, None)
