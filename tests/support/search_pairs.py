"""Notes of a project that never was, and questions of which each has one right note: French, identifiers, and both.

Written for this; nothing of it is from a data set. The notes are made to be mistaken for each other: two errors one
digit apart, three commits, two mails, several expiries. A `probe` is a French question that says in other words what
its note says.
"""

from dataclasses import dataclass
from typing import Literal

Kind = Literal["french", "probe", "identifier", "mixed"]


@dataclass(frozen=True)
class Pair:
    """A question, and the name of the one note that answers it."""

    kind: Kind
    query: str
    note: str


NOTES: dict[str, str] = {
    # who may come in
    "jwt": (
        "Décision : l'accès à l'API passe par un JWT signé en RS256. Sa durée de vie est d'une heure ; le "
        "renouvellement se fait en arrière-plan, sans que l'utilisateur le voie."
    ),
    "refresh": (
        "Le jeton de rafraîchissement expire après 30 jours ; au-delà, l'utilisateur doit ressaisir son mot de passe."
    ),
    "skew": (
        "ERR_AUTH_4012 quand l'horloge du client avance de plus de 90 secondes : on tolère désormais un "
        "décalage de 120 s (clockSkewSeconds)."
    ),
    "jwks": "ERR_AUTH_4021: the signing keys were never fetched again after a rotation; jwksCacheTtl is now 300 s.",
    "argon": (
        "Le mot de passe d'un compte est haché avec argon2id (64 Mio, 3 passes). Les anciens, en bcrypt, "
        "sont convertis à la première connexion."
    ),
    "sso": (
        "SSO with Keycloak, realm atelier-prod: the redirect must end with /oauth/callback, sinon la page "
        "reste blanche après connexion."
    ),
    # the database
    "index": (
        "La migration 0042_add_invoice_index a bloqué la table pendant 11 minutes en production. Dorénavant "
        ": CREATE INDEX CONCURRENTLY, et jamais un lundi matin."
    ),
    "address": (
        "Migration 0043_split_address : la colonne adresse est découpée en rue, code_postal et ville. "
        "Réversible jusqu'au 15 mars."
    ),
    "pool": (
        "Le pool de connexions PostgreSQL s'épuise à partir de 40 workers : DB_POOL_SIZE passe de 10 à 25, "
        "DB_POOL_TIMEOUT reste à 5 s."
    ),
    "slow": (
        "Requête lente sur la liste des factures : il manquait un index sur (client_id, emise_le). De 2,3 s à 40 ms."
    ),
    "dump": (
        "Sauvegarde nocturne : pg_dump à 02:30 vers s3://atelier-backups, gardée 35 jours ; restauration "
        "essayée chaque premier mercredi."
    ),
    "replica": (
        "Réplica en lecture : le retard dépasse 30 s pendant la clôture ; les rapports lisent donc le "
        "primaire entre 1 h et 4 h."
    ),
    # code
    "read": "read_file coupe désormais à 200 kB et renvoie truncated: true ; l'agent redemande la suite avec offset.",
    "write": (
        "write_file refuses paths outside the workspace; dot-dot segments are resolved before the check. "
        "Trouvé par Léa."
    ),
    "budget": "tokenBudget is computed before the prompt is built: contextWindow minus answerReserve, never below 512.",
    "exceeded": "tokenBudgetExceeded est levé côté client seulement ; le serveur, lui, répond 429 avec retry_after.",
    "sync": (
        "readFileSync dans le chemin critique de renderInvoice : remplacé par un cache en mémoire, p95 de 380 à 45 ms."
    ),
    "date": "parse_date accepte « 3 mars 2026 » et 2026-03-03, mais pas 03/03/26 : ambigu, lève DateFormatError.",
    "duration": "parse_duration reads 2h30, PT2H30M and 150 min; negative values raise ValueError.",
    "pdf": "src/billing/invoice_pdf.py est trop gros (1 400 lignes) : à découper en layout.py, fonts.py et totals.py.",
    "xml": (
        "src/billing/invoice_xml.py écrit du Factur-X, profil EN 16931 ; validation with the Mustang CLI in "
        "nightly builds."
    ),
    # what was released, what was changed
    "credit": "v1.3.1 : correctif du calcul de la TVA sur les avoirs, publié le 4 février.",
    "safari": "v1.3.2 rolls back the new login page: on Safari 15 it stayed empty because of :has().",
    "i18n": "v1.4.0 : interface en français et en anglais, i18n par des fichiers .ftl ; le reste suivra.",
    "python": "v2.0.0-rc.1 drops Python 3.10 and needs uv 0.8 to build.",
    "sort": "Le commit 9f3c2ab rétablit l'ancien tri des résultats, en attendant une mesure.",
    "dead": "Le commit 9f3d71e supprime le code mort de l'import CSV (import_csv_legacy).",
    "ack": "git bisect points at 4be81d0: the worker stopped acknowledging messages after the Redis upgrade.",
    # machines
    "disk": (
        "Disque plein sur le runner de CI : 46 Go d'images dans /var/lib/docker. Purge chaque nuit "
        "(docker-prune.timer)."
    ),
    "zone": "Les tests d'intégration sont instables le lundi : fuseau horaire. TZ=UTC est maintenant dans ci.yml.",
    "pip": "CI: the pip cache is keyed by the hash of requirements.txt; builds went from 9 to 4 minutes.",
    "oom": "OOMKilled sur le pod worker-export : limite de mémoire de 512Mi à 1Gi, et MAX_ROWS_IN_MEMORY=50000.",
    "tls": (
        "Le certificat TLS d'api.atelier.example expire le 12 mai ; cert-manager échoue : quota de Let's "
        "Encrypt atteint."
    ),
    "dns": "DNS : le TTL de l'enregistrement api est ramené à 60 s avant la bascule vers la région de Paris.",
    "body": "Nginx refuse (413) les fichiers de plus de 10 Mo : client_max_body_size à 50m, pour /imports uniquement.",
    "export": (
        "504 sur /exports/comptable : la passerelle coupe à 30 s. Passe en tâche de fond, que le client "
        "interroge ensuite."
    ),
    "rate": "RATE_LIMIT_PER_MINUTE vaut 120 par clé d'API ; les clés de service ont RATE_LIMIT_BURST=300.",
    # what people want
    "basket": "La cliente Rousseau veut que le panier garde son contenu après déconnexion ; retenu pour le printemps.",
    "quote": "Les devis refusés restent visibles 90 jours, puis sont archivés ; demande du service commercial.",
    "cancelled": "Les factures annulées ne sont jamais supprimées : la loi oblige à les conserver dix ans.",
    "mobile": "On abandonne l'application mobile native : trop peu d'usage, la version web suffit.",
    "meeting": "Réunions courtes : quinze minutes debout, le mardi et le jeudi, sans ordinateur.",
    "contrast": (
        "Accessibilité : contraste insuffisant des boutons gris, signalé par une personne malvoyante. Nouvelle palette."
    ),
    "welcome": "Le courriel de bienvenue part en double quand l'inscription est relancée : clé d'idempotence ajoutée.",
    "reminder": (
        "Les courriels de relance pour factures impayées partent à 8 h du fuseau du client, jamais le dimanche."
    ),
    "accents": (
        "Search folds accents, so « élève » finds eleve; « côté » and « cote » are then the same, which we accept."
    ),
    "freeze": "L'import de 20 000 lignes fige l'écran : découpage par paquets de 500, avec une barre d'avancement.",
    "excel": "Export to Excel must use semicolons: in locale fr_FR a comma is the decimal sign.",
}

_FRENCH = {
    "durée de vie du jeton d'accès à l'API": "jwt",
    "au bout de combien de jours le jeton de rafraîchissement expire-t-il ?": "refresh",
    "quel décalage d'horloge est toléré ?": "skew",
    "comment les mots de passe sont-ils hachés": "argon",
    "pool de connexions épuisé": "pool",
    "requete lente sur les factures": "slow",
    "combien de temps la sauvegarde de la nuit est-elle gardée ?": "dump",
    "retard du réplica pendant la clôture": "replica",
    "quelle migration a bloqué la table ?": "index",
    "découpage de la colonne d'adresse": "address",
    "TVA sur les avoirs": "credit",
    "le disque du runner est plein": "disk",
    "pourquoi les tests sont-ils instables le lundi ?": "zone",
    "quand expire le certificat ?": "tls",
    "bascule vers la région Paris": "dns",
    "archivage des devis refusés": "quote",
    "conservation des factures annulées": "cancelled",
    "pourquoi avoir abandonné l'application mobile": "mobile",
    "le courriel de bienvenue part deux fois": "welcome",
    "relances le dimanche": "reminder",
    "contraste des boutons": "contrast",
    "l'import fige l'écran": "freeze",
    "suppression du code mort de l'import": "dead",
    "ancien tri des resultats": "sort",
    "panier apres deconnexion": "basket",
    "où faut-il découper le fichier trop gros ?": "pdf",
}

_PROBES = {
    "Pourquoi la base ne répond-elle plus dès qu'il y a trop de processus ?": "pool",
    "Quelqu'un ne revient qu'au bout de six semaines : que doit-il refaire ?": "refresh",
    "Peut-on effacer une pièce comptable émise par erreur ?": "cancelled",
    "Pourquoi n'y a-t-il plus rien à installer sur le téléphone ?": "mobile",
    "À quel rythme l'équipe se retrouve-t-elle ?": "meeting",
    "Sous quelle forme les codes secrets des membres sont-ils enregistrés ?": "argon",
    "Un nouvel abonné reçoit deux messages identiques": "welcome",
    "Des gens qui voient mal n'arrivent pas à lire l'interface": "contrast",
    "Le téléversement d'un gros document est rejeté": "body",
    "L'affichage reste gelé pendant le chargement d'un grand tableau": "freeze",
    "À quel moment rappelle-t-on aux acheteurs qu'ils doivent encore payer ?": "reminder",
    "L'achat en cours disparaît quand on quitte sa session": "basket",
}

_IDENTIFIERS = {
    "read_file": "read",
    "write_file": "write",
    "tokenBudget": "budget",
    "tokenBudgetExceeded": "exceeded",
    "readFileSync": "sync",
    "v1.3.1": "credit",
    "v1.3.2": "safari",
    "v2.0.0-rc.1": "python",
    "9f3c2ab": "sort",
    "9f3d71e": "dead",
    "4be81d0": "ack",
    "ERR_AUTH_4012": "skew",
    "ERR_AUTH_4021": "jwks",
    "DB_POOL_SIZE": "pool",
    "RATE_LIMIT_BURST": "rate",
    "MAX_ROWS_IN_MEMORY": "oom",
    "src/billing/invoice_pdf.py": "pdf",
    "invoice_xml.py": "xml",
    "0042_add_invoice_index": "index",
    "0043_split_address": "address",
    "parse_duration": "duration",
    "DateFormatError": "date",
    "clockSkewSeconds": "skew",
    "/oauth/callback": "sso",
    "client_max_body_size": "body",
    "docker-prune.timer": "disk",
    # by their parts
    "jwks cache": "jwks",
    "answer reserve": "budget",
    "import csv legacy": "dead",
}

_MIXED = {
    "blank page after SSO login": "sso",
    "Safari login page rollback": "safari",
    "export comptable gateway timeout": "export",
    "worker Redis acknowledge": "ack",
    "séparateur for Excel in France": "excel",
    "build time with pip cache": "pip",
    "recherche sans accents folded": "accents",
    "Factur-X validation nightly": "xml",
    "paths outside the workspace": "write",
    "langue de l'interface i18n": "i18n",
    "memory limit of the worker-export pod": "oom",
    "rate limit par clé d'API": "rate",
    "which Python version is dropped": "python",
    "negative durations": "duration",
}

PAIRS: tuple[Pair, ...] = (
    *(Pair("french", query, note) for query, note in _FRENCH.items()),
    *(Pair("probe", query, note) for query, note in _PROBES.items()),
    *(Pair("identifier", query, note) for query, note in _IDENTIFIERS.items()),
    *(Pair("mixed", query, note) for query, note in _MIXED.items()),
)
