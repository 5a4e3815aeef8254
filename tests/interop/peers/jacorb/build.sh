#!/bin/sh
# Builds the JacORB peer: build.sh OUTPUT_FOLDER. Called by the runner when its sources changed.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
out=$1
mkdir -p "$out/gen" "$out/classes"
if [ ! -f "$out/lib/complete" ]; then
  mvn -q -B -f "$here/pom.xml" dependency:copy-dependencies -DoutputDirectory="$out/lib"
  touch "$out/lib/complete"
fi
java -cp "$out/lib/*" org.jacorb.idl.parser -I"$here/idl" -d "$out/gen" "$here/../../idl/interop.idl"
java -cp "$out/lib/*" org.jacorb.idl.parser -ami_callback -I"$here/idl" -d "$out/gen" "$here/../../idl/asynchrony.idl"
java -cp "$out/lib/*" org.jacorb.idl.parser -I"$here/idl" -d "$out/gen" "$here/../../idl/adapters.idl"
find "$out/gen" "$here/src" -name '*.java' >"$out/sources"
javac -encoding UTF-8 -nowarn -Xlint:none -cp "$out/lib/*" -d "$out/classes" @"$out/sources"
