// A mailed link holds its token behind the #, which no server gets to see. It is taken out of the address bar and the
// history, and goes into the form. A form that only looks at the link is sent off; one that does something waits for a click.
"use strict";

function take() {
  const form = document.querySelector("form[data-link]");
  const token = location.hash.slice(1);
  if (form === null) return;
  if (token) {
    history.replaceState(null, "", location.pathname);
    form.querySelector("input[name=token]").value = token;
  }
  if (form.dataset.link === "look") form.submit();
}

take();
window.addEventListener("hashchange", take);
