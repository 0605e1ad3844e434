"""Charts as SVG text, made of a closed list of marks. Pure: numbers and names in, text out, no colours.

What a mark looks like is a class of the sheet (`pages/static/pages.css`), so a theme or a printer needs no
second drawing. Text keeps its size at any width without a script: the outer picture has no view box, x is in
percent and y in pixels; paths alone lie in a nested one that is stretched. Every text is escaped here.
"""
