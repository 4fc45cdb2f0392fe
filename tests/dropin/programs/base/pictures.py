"""Pictures to show to the programs, the same each time."""

from __future__ import annotations

from PIL import Image, ImageDraw, ImageFont


def text_picture(lines: list[str], size: int = 36) -> Image.Image:
    """Black text on white."""
    picture = Image.new("RGB", (560, 30 + 60 * len(lines)), "white")
    draw = ImageDraw.Draw(picture)
    for i, line in enumerate(lines):
        draw.text((20, 15 + 60 * i), line, fill="black", font=ImageFont.load_default(size))
    return picture


def shapes_picture(width: int = 640, height: int = 480) -> Image.Image:
    """Ellipses and boxes in colours, on a gradient."""
    picture = Image.radial_gradient("L").resize((width, height)).convert("RGB")
    draw = ImageDraw.Draw(picture)
    draw.ellipse((200, 60, 420, 300), fill=(224, 172, 105))
    draw.rectangle((240, 290, 380, 470), fill=(40, 60, 160))
    draw.ellipse((250, 130, 280, 160), fill="white", outline="black")
    draw.ellipse((340, 130, 370, 160), fill="white", outline="black")
    return picture
