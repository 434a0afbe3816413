"""Producers of what lies on a device: tensors of DLPack and data of Arrow's device interface, out of ctypes.

Their memory is the CPU's, whatever device they name. They count how often a consumer lets go of it.
"""

import ctypes

CPU, CUDA, CUDA_HOST, METAL, ROCM = 1, 2, 3, 8, 10
CODES = {"i": 0, "u": 1, "f": 2, "c": 5, "b": 6}


class Device(ctypes.Structure):
    _fields_ = [("type", ctypes.c_int32), ("id", ctypes.c_int32)]


class DataType(ctypes.Structure):
    _fields_ = [("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16)]


class DLTensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device", Device),
        ("ndim", ctypes.c_int32),
        ("dtype", DataType),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


Deleter = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


class Managed(ctypes.Structure):
    _fields_ = [("tensor", DLTensor), ("context", ctypes.c_void_p), ("deleter", Deleter)]


class Versioned(ctypes.Structure):
    _fields_ = [
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("context", ctypes.c_void_p),
        ("deleter", Deleter),
        ("flags", ctypes.c_uint64),
        ("tensor", DLTensor),
    ]


class ArrowDeviceArray(ctypes.Structure):
    """The end of the struct, behind the array of 80 bytes."""

    _fields_ = [
        ("array", ctypes.c_byte * 80),
        ("device_id", ctypes.c_int64),
        ("device_type", ctypes.c_int32),
        ("sync_event", ctypes.c_void_p),
        ("reserved", ctypes.c_int64 * 3),
    ]


def function(name, result, *arguments):
    # Not an attribute of ctypes.pythonapi, which all tests share.
    return ctypes.PYFUNCTYPE(result, *arguments)((name, ctypes.pythonapi))


new_capsule = function("PyCapsule_New", ctypes.py_object, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
pointer_of = function("PyCapsule_GetPointer", ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)
name_of = function("PyCapsule_GetName", ctypes.c_char_p, ctypes.py_object)


def integers(values):
    return (ctypes.c_int64 * len(values))(*values)


class Tensor:
    """A tensor of another library over the memory of a contiguous NumPy array.

    `exported` is what the capsule says where that is not what the tensor says: place, dtype, shape, strides, data.
    `version` makes the struct that tells it, and `name` is that of the capsule.
    """

    def __init__(self, array, device=(CUDA, 0), version=None, name=None, **exported):
        self.array = array
        self.ndim = array.ndim
        self.device = device
        self.version = version
        self.name = name or (b"dltensor" if version is None else b"dltensor_versioned")
        self.exported = exported
        self.asked = []
        self.deleted = 0
        self.kept = []  # what capsules point to

    def __dlpack_device__(self):
        return self.device

    def __dlpack__(self, **asked):
        self.asked.append(asked)
        device = self.exported.get("place", self.device)
        bits = 8 * self.array.itemsize
        dtype = self.exported.get("dtype", (CODES[self.array.dtype.kind], bits, 1))
        shape = self.exported.get("shape", self.array.shape)
        strides = self.exported.get("strides")
        tensor = DLTensor(
            self.exported.get("data", self.array.ctypes.data),
            Device(*device),
            len(shape),
            DataType(*dtype),
            integers(shape),
            None if strides is None else integers(strides),
            0,
        )
        deleter = Deleter(self._delete)
        if self.version is None:
            managed = Managed(tensor, None, deleter)
        else:
            managed = Versioned(*self.version, None, deleter, 0, tensor)
        self.kept.append((managed, deleter))
        return new_capsule(ctypes.addressof(managed), self.name, None)

    def _delete(self, _managed):
        self.deleted += 1


class OldTensor(Tensor):
    """A tensor of a library before versions."""

    def __dlpack__(self, stream=None):
        return super().__dlpack__(stream=stream)


class ArrowData:
    """Data of pyarrow that speak the device interface alone, and say what a test wants of where they lie."""

    def __init__(self, data, device=(CPU, -1), event=None):
        self.data = data
        self.device = device
        self.event = event
        self.given = None

    def __arrow_c_device_array__(self, requested_schema=None, **options):
        self.given = self.data.__arrow_c_device_array__(requested_schema, **options)
        there = ArrowDeviceArray.from_address(pointer_of(self.given[1], b"arrow_device_array"))
        there.device_type, there.device_id = self.device
        there.sync_event = self.event
        return self.given
