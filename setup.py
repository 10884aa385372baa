"""Builds the extension module of the Python package (engine/python) with CMake.

The build folder is a temporary one, or $ULPLAB_BUILD_FOLDER, where a build of the tree for this interpreter is used
again.
"""

import atexit
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

ROOT = pathlib.Path(__file__).resolve().parent
VERSION = re.search(r"project\(ulplab VERSION ([0-9.]+)", (ROOT / "CMakeLists.txt").read_text()).group(1)


class BuildWithCMake(build_ext):
    def build_extension(self, extension):
        target = pathlib.Path(self.get_ext_fullpath(extension.name)).resolve()
        given = os.environ.get("ULPLAB_BUILD_FOLDER")
        build = pathlib.Path(given or pathlib.Path(self.build_temp) / "cmake")
        if not (build / "CMakeCache.txt").exists():
            subprocess.run(["cmake", "-S", ROOT, "-B", build, "-DCMAKE_BUILD_TYPE=Release", "-DULPLAB_TESTS=OFF",
                            "-DULPLAB_GPU=OFF", "-DULPLAB_PYTHON=ON", f"-DPython_EXECUTABLE={sys.executable}"], check=True)
        subprocess.run(["cmake", "--build", build, "--target", "ulplab_python", "-j", str(os.cpu_count())], check=True)
        built = list((build / "python" / "ulplab").glob("_core*.so"))
        if len(built) != 1:
            raise SystemExit(f"{build}/python/ulplab holds {len(built)} extension modules; one is expected")
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(built[0], target)


os.chdir(ROOT)
work = tempfile.mkdtemp(prefix="ulplab-build-")
atexit.register(shutil.rmtree, work, ignore_errors=True)
setup(version=VERSION, ext_modules=[Extension("ulplab._core", [])], cmdclass={"build_ext": BuildWithCMake},
      options={"build": {"build_base": work}, "egg_info": {"egg_base": work}})
