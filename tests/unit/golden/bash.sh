#!/bin/bash
. ./lib.sh
source "$DIR/x.sh"
# Doc.
foo() { local x; bar() { :; } }
function baz { :; }
function qux() ( : )
