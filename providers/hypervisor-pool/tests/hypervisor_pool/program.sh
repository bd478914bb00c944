#!/bin/sh
. "$ROOT/programs/${0##*/}"
