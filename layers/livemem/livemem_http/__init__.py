"""What every handler shares: the HTTP resolver with access control and problem documents, and this process's parts."""
