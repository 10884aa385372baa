/* NumPy types with the names and sizes of ml_dtypes' types, registered as that package registers its own: words without
   arithmetic, so that the tests need not have it. named_types.make("named_types.bfloat16", bytes) gives a dtype. */
#define NPY_NO_DEPRECATED_API NPY_1_7_API_VERSION
#include <Python.h>
#include <numpy/arrayobject.h>
#include <string.h>

static PyObject* get_word(void* data, void* array) {
    unsigned long word = 0;
    memcpy(&word, data, (size_t)PyArray_ITEMSIZE((PyArrayObject*)array));
    return PyLong_FromUnsignedLong(word);
}

static int set_word(PyObject* item, void* data, void* array) {
    const unsigned long word = PyLong_AsUnsignedLong(item);
    if (PyErr_Occurred()) return -1;
    memcpy(data, &word, (size_t)PyArray_ITEMSIZE((PyArrayObject*)array));
    return 0;
}

static void copy(void* to, void* from, int swap, void* array) {
    if (from != NULL) memcpy(to, from, (size_t)PyArray_ITEMSIZE((PyArrayObject*)array));
    (void)swap;
}

static void copy_many(void* to, npy_intp to_stride, void* from, npy_intp from_stride, npy_intp n, int swap,
                      void* array) {
    for (npy_intp i = 0; from != NULL && i < n; ++i) {
        copy((char*)to + i * to_stride, (char*)from + i * from_stride, swap, array);
    }
}

static npy_bool is_nonzero(void* data, void* array) {
    unsigned long word = 0;
    memcpy(&word, data, (size_t)PyArray_ITEMSIZE((PyArrayObject*)array));
    return word != 0;
}

static PyObject* make(PyObject* self, PyObject* arguments) {
    const char* name;
    int bytes;
    if (!PyArg_ParseTuple(arguments, "si", &name, &bytes)) return NULL;
    static PyArray_ArrFuncs functions; /* NumPy keeps them while the process lives */
    PyArray_InitArrFuncs(&functions);
    functions.getitem = get_word;
    functions.setitem = set_word;
    functions.copyswap = copy;
    functions.copyswapn = copy_many;
    functions.nonzero = is_nonzero;
    PyType_Slot slots[] = {{Py_tp_base, &PyGenericArrType_Type}, {0, NULL}};
    PyType_Spec spec = {strdup(name), 0, 0, Py_TPFLAGS_DEFAULT, slots};
    PyObject* type = PyType_FromSpec(&spec);
    if (type == NULL) return NULL;
    PyArray_Descr* descr = PyObject_New(PyArray_Descr, &PyArrayDescr_Type);
    memset((char*)descr + sizeof(PyObject), 0, sizeof(*descr) - sizeof(PyObject));
    descr->typeobj = (PyTypeObject*)type;
    descr->kind = 'V';
    descr->type = 'E';
    descr->byteorder = '=';
    descr->elsize = bytes;
    descr->alignment = bytes;
    descr->f = &functions;
    descr->hash = -1;
    if (PyArray_RegisterDataType(descr) < 0) return NULL;
    Py_INCREF(descr); /* NumPy keeps it, and the caller has it */
    (void)self;
    return (PyObject*)descr;
}

static PyMethodDef methods[] = {{"make", make, METH_VARARGS, NULL}, {NULL, NULL, 0, NULL}};
static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "named_types", NULL, -1, methods, NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit_named_types(void) {
    import_array();
    return PyModule_Create(&module);
}
