# The python that has torch and numpy, as $python; without one the test is skipped. Read by other scripts.
python=
for each in /usr/bin/python3 python3; do  # Debian's packages belong to the first
    if [ -z "$python" ] && "$each" -c 'import torch, numpy' 2>/dev/null; then python=$each; fi
done
[ -n "$python" ] || { echo "skipped: no python3-torch"; exit 0; }
