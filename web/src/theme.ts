// Runs before anything is drawn, so that a page that shall be dark never flashes light.
try {
  const theme = localStorage.getItem("millrace.theme");
  if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
} catch {
  // Storage may be forbidden: then the system's theme it is.
}
