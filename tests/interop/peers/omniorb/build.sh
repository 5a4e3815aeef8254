#!/bin/sh
# Builds the omniORB peer: build.sh OUTPUT_FOLDER. Called by the runner when its sources changed.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
out=$1
mkdir -p "$out/gen"
omniidl -bcxx -Wba -Wbuse_quotes -DCORBIE_EXTENSIONS -I/usr/share/idl/omniORB -C"$out/gen" "$here/../../idl/interop.idl" 2>"$out/omniidl.log"
omniidl -bcxx -Wba -Wbami -Wbuse_quotes -I/usr/share/idl/omniORB -C"$out/gen" "$here/../../idl/asynchrony.idl" 2>>"$out/omniidl.log"
flags="-std=c++17 -O1 -Wall -I$out/gen -I$here"
omniidl -bcxx -Wbuse_quotes -I/usr/share/idl/omniORB -C"$out/gen" "$here/../../idl/adapters.idl" 2>>"$out/omniidl.log"
# What omniidl generates has warnings of its own.
for f in interopSK interopDynSK asynchronySK asynchronyDynSK adaptersSK; do
  g++ -std=c++17 -O1 -w -I"$out/gen" -c "$out/gen/$f.cc" -o "$out/$f.o"
done
for f in values servants client asynchrony async_client adapter_client main; do
  g++ $flags -isystem "$out/gen" -Wno-switch-bool -c "$here/$f.cc" -o "$out/$f.o"
done
# Nothing names the TLS transport: it registers itself when it is loaded, and -ORBssl… arguments tell it what to use.
g++ -o "$out/omni_peer" "$out"/*.o -lomniDynamic4 -lomniORB4 -lomnithread -lpthread \
  -Wl,--no-as-needed -lomnisslTP4
