"""The colours of all figures: Okabe and Ito's, told apart by every kind of colour vision, and in print by lightness."""

BLUE, ORANGE, GREEN, VERMILION, PURPLE, SKY = "#0072B2", "#E69F00", "#009E73", "#D55E00", "#CC79A7", "#56B4E9"
INK, GREY, MIST = "#222222", "#7A7A7A", "#E4E4E4"
