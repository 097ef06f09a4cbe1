from spack.package import *


class Mcchk(GoPackage):
    """Finds data races in MPI programs that use one-sided communication (RMA)."""

    homepage = "https://github.com/mcchk/mcchk"
    git = "https://github.com/mcchk/mcchk.git"

    license("Apache-2.0")

    version("main", branch="main")

    variant("clang", default=True, description="With clang and llvm-link, traced programs run faster")

    # The oldest Go that go.mod allows.
    depends_on("go@1.26:", type="build")
    # The tracer is compiled with the compiler and the MPI library of the program.
    depends_on("c", type=("build", "run"))
    depends_on("mpi", type="run")
    depends_on("llvm+clang", type="run", when="+clang")

    build_directory = "cmd/mcchk"

    @run_after("install")
    def link_compilers(self):
        for name in ("mcchk-cc", "mcchk-cxx", "mcchk-fc", "mcchk-oshcc", "mcchk-oshcxx", "mcchk-gcc", "mcchk-g++", "mcchk-gfortran", "mcchk-clang", "mcchk-clang++"):
            symlink("mcchk", join_path(self.prefix.bin, name))

    @run_after("install")
    @on_package_attributes(run_tests=True)
    def check_install(self):
        mcchk = Executable(self.prefix.bin.mcchk)
        mcchk("--version")
