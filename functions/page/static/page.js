// Fills the address of this service into the commands.
const commands = document.getElementById("commands");
commands.textContent = commands.textContent.replace("URL", location.origin);
