try{let e=localStorage.getItem("millrace.theme");(e==="light"||e==="dark")&&(document.documentElement.dataset.theme=e)}catch{}
