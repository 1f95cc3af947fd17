#!/usr/bin/env python3
"""Make a C array of the shipped profiles: embed.py OUT.c PROFILE.yaml…"""
import pathlib
import sys

out, *profiles = map(pathlib.Path, sys.argv[1:])
lines = ['#include "policy/shipped.h"', ""]
for number, profile in enumerate(profiles):
    data = profile.read_bytes()
    lines.append(f"static const char TEXT_{number}[] = {{")
    for at in range(0, len(data), 16):
        lines.append("\t" + " ".join(f"{byte}," for byte in data[at:at + 16]))
    lines.append("};")
lines.append("const struct shipped SHIPPED[] = {")
for number, profile in enumerate(profiles):
    lines.append(f'\t{{"{profile.stem}", TEXT_{number}, sizeof(TEXT_{number})}},')
lines += ["};", f"const size_t SHIPPED_COUNT = {len(profiles)};", ""]
out.write_text("\n".join(lines))
