#!/usr/bin/env bash
# Whether the shared libraries export what the installed headers declare, and nothing else. Usage: exports.sh PREFIX
#
# By names: ulp::a::b counts as declared where all of its names occur in installed headers.
set -euo pipefail
prefix=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# The qualified names of functions and objects among demangled ones, without arguments of templates and functions, and
# without results. Operators, constructors in lambdas and type information are left out.
names() {
    grep -vE '^(typeinfo|vtable|guard)|lambda|operator|\{' |
        sed -E ':a; s/<[^<>]*>//g; ta; s/\(.*//; s/\[abi.*//' | { grep -oE '[A-Za-z_0-9:~]+$' || true; } | sort -u
}
# declared WORDS: those of the names on standard input whose parts are all among the words.
declared() {
    awk 'NR == FNR { words[$1] = 1; next }
         { n = split($1, parts, "::"); for (i = 1; i <= n; ++i) { sub("~", "", parts[i]); if (!(parts[i] in words)) next } print }' \
        "$1" -
}
# undeclared_of SYMBOLS, in a file: what is exported, but not declared; unexported_of SYMBOLS DEFINED: the converse.
undeclared_of() { names <"$1" >"$work/names"; declared "$work/words" <"$work/names" | comm -23 "$work/names" -; }
unexported_of() { names <"$2" | declared "$work/words" | comm -23 - <(names <"$1"); }

# All words of the headers, and the names that softfloat/functions/functions.hpp puts together.
grep -rhoE '[A-Za-z_][A-Za-z_0-9]*' "$prefix/include/ulplab" | sort -u >"$work/words"
sed -nE 's/^ *ROW\((\w+),.*/\1_bits/p' "$prefix/include/ulplab/softfloat/functions/list.hpp" >>"$work/words"

status=0
for archive in "$(find "$prefix" -name libulplab_softfloat.a)" "$(find "$prefix" -name libulplab_engine.a)"; do
    shared=${archive%.a}.so
    # The names of some of clang's lambdas stay mangled: nm cannot read them.
    nm -DC --defined-only "$shared" | cut -c20- | grep -vE '^_ZN3ulp.*Ul' >"$work/exported"
    nm -C --defined-only "$archive" 2>/dev/null | grep -E '^[0-9a-f]+ [TDB] ulp::' | cut -c20- >"$work/defined"
    grep -v 'ulp::' "$work/exported" >"$work/wrong" || true
    undeclared_of "$work/exported" >>"$work/wrong"
    [ ! -s "$work/wrong" ] || { echo "$shared exports what no installed header declares:"; cat "$work/wrong"
        echo "declare it between '#pragma GCC visibility push(hidden)' and pop"; status=1; } >&2
    unexported_of "$work/exported" "$work/defined" >"$work/wrong"
    [ ! -s "$work/wrong" ] || { echo "$shared does not export what installed headers declare:"; cat "$work/wrong"; status=1; } >&2
done

# Of the library in double only what is compiled in fp64 mode may be defined, or it would clash with the other library.
nm -C --defined-only "$(find "$prefix" -name libulplab_engine_fp64.a)" 2>/dev/null |
    grep -E '^[0-9a-f]+ [TDB] ulp::' | grep -v ' ulp::fp64_mode::' >"$work/wrong" || true
[ ! -s "$work/wrong" ] || { echo "libulplab_engine_fp64.a defines outside of ulp::fp64_mode:"; cat "$work/wrong"; status=1; } >&2

# The controls: a kernel's function, were it exported, and a public function, were it not.
echo 'ulp::gemm_kernels::fast_gemm(ulp::gemm_kernels::Kernels const&, long)' >"$work/kernel"
[ "$(undeclared_of "$work/kernel")" = ulp::gemm_kernels::fast_gemm ] || { echo "exports.sh misses a kernel" >&2; status=1; }
grep -v 'ulp::make_backend(' "$work/exported" >"$work/fewer"
[ "$(unexported_of "$work/fewer" "$work/defined")" = ulp::make_backend ] || { echo "exports.sh misses an absence" >&2; status=1; }
exit $status
