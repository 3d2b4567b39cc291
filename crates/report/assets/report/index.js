// Filters the list of records by the words in the search box; the address keeps them, so that going back restores the list.
"use strict";
(() => {
  const box = document.querySelector(".search"), input = box.querySelector("input"), count = box.querySelector("output");
  const rows = [...document.querySelectorAll(".records > li")].map(row => [row, row.textContent.toLowerCase()]);
  const filter = () => {
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    rows.forEach(([row, text]) => { row.hidden = !words.every(word => text.includes(word)); });
    count.textContent = `${rows.filter(([row]) => !row.hidden).length} of ${rows.length} shown`;
  };
  input.value = new URLSearchParams(location.search).get("q") ?? "";
  input.addEventListener("input", () => {
    filter();
    if (location.protocol.startsWith("http")) history.replaceState(null, "", input.value ? `?q=${encodeURIComponent(input.value)}` : location.pathname);
  });
  box.hidden = false;
  filter();
})();
