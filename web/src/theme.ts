// Runs before anything is drawn, so that a dark page never flashes light.
try {
  const theme = localStorage.getItem("millrace.theme");
  if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
} catch {
  // If storage is forbidden, the system's theme is used.
}
