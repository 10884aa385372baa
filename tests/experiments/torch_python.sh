# The python that has torch and numpy, as $python; without one the test is skipped. Read by other scripts.
python=
environment=$(dirname "${BASH_SOURCE[0]}")/../../build/release/venv/bin/python  # which check.sh --torch makes
for each in "$environment" /usr/bin/python3 python3; do
    if [ -z "$python" ] && "$each" -c 'import torch, numpy' 2>/dev/null; then python=$each; fi
done
[ -n "$python" ] || { echo "skipped: no PyTorch (--torch)"; exit 0; }
