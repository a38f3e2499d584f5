"""Keys and tokens of common providers that begin with a fixed text, and the form of the rest of each.

Sources: the providers' own documents, and the rules of gitleaks 8 and GitHub's secret scanning. Each tail either has a
bounded length or takes a run as a whole (`++`), so a search never reads the same text twice.
"""

_WORD = "[A-Za-z0-9_-]"
_HEX = "[a-f0-9]"

PREFIXED: tuple[tuple[str, str], ...] = (
    # Google: API keys, OAuth access tokens, client secrets.
    ("AIza", f"{_WORD}{{30,}}+"),
    ("AQ.", f"{_WORD}{{40,}}+"),
    ("ya29.", f"{_WORD}{{20,}}+"),
    ("GOCSPX-", f"{_WORD}{{20,}}+"),
    # GitLab.
    *(
        (f"{prefix}-", f"{_WORD}{{20,}}+")
        for prefix in ("glpat", "gldt", "glrt", "glptt", "glcbt", "glsoat", "glagent", "glft", "gloas", "glwt")
    ),
    # Payments and shops: Stripe, Square, Shopify.
    *((f"{kind}_{mode}_", "[A-Za-z0-9]{16,}+") for kind in ("sk", "rk") for mode in ("live", "test")),
    ("whsec_", "[A-Za-z0-9+/]{24,}+=*"),
    ("sq0atp-", f"{_WORD}{{22}}"),
    ("sq0csp-", f"{_WORD}{{43}}"),
    *((f"{prefix}_", "[a-fA-F0-9]{32}") for prefix in ("shpat", "shpca", "shppa", "shpss")),
    # Packages and images: npm, PyPI, Docker, RubyGems, crates.io.
    ("npm_", "[A-Za-z0-9]{30,}+"),
    ("pypi-AgE", f"{_WORD}{{50,}}+"),
    ("dckr_pat_", f"{_WORD}{{20,}}+"),
    ("dckr_oat_", f"{_WORD}{{20,}}+"),
    ("rubygems_", f"{_HEX}{{48}}"),
    ("cio", "[A-Za-z0-9]{32}"),
    # Models: Hugging Face, Groq, xAI, Perplexity, Replicate, NVIDIA, Pinecone, Tavily, LangSmith.
    ("hf_", "[A-Za-z0-9]{30,}+"),
    ("gsk_", "[A-Za-z0-9]{40,}+"),
    ("xai-", "[A-Za-z0-9]{60,}+"),
    ("pplx-", "[A-Za-z0-9]{40,}+"),
    ("r8_", "[A-Za-z0-9]{30,}+"),
    ("nvapi-", f"{_WORD}{{60,}}+"),
    ("pcsk_", f"{_WORD}{{50,}}+"),
    ("tvly-", f"{_WORD}{{20,}}+"),
    # Cerebras, Fireworks, Together, Voyage, ElevenLabs, Jina, LlamaCloud, Mem0, Firecrawl, E2B, Weights & Biases,
    # Cursor.
    ("csk-", "[A-Za-z0-9]{40,}+"),
    ("fw_", "[A-Za-z0-9]{22,}+"),
    ("tgp_v1_", f"{_WORD}{{40,}}+"),
    ("pa-", f"(?={_WORD}{{0,42}}[0-9])(?={_WORD}{{0,42}}[A-Z]){_WORD}{{43}}"),
    ("sk_", f"{_HEX}{{48}}"),
    ("jina_", f"{_WORD}{{50,}}+"),
    ("llx-", "[A-Za-z0-9]{48}"),
    ("m0-", "[A-Za-z0-9]{40}"),
    ("fc-", f"{_HEX}{{32}}"),
    ("e2b_", f"{_HEX}{{40}}"),
    ("wandb_v1_", f"{_WORD}{{40,}}+"),
    *((prefix, f"{_HEX}{{64}}") for prefix in ("key_", "crsr_")),
    ("sess-", "[A-Za-z0-9]{40}"),
    ("lsv2_", f"(?:pt|sk)_{_HEX}{{32}}_{_HEX}{{10}}"),
    # Mail and messages: SendGrid, Twilio, Resend, Brevo.
    ("re_", "[A-Za-z0-9]{8}_[A-Za-z0-9]{24}"),
    ("xkeysib-", f"{_HEX}{{64}}-[A-Za-z0-9]{{16}}"),
    ("SG.", f"{_WORD}{{16,32}}\\.{_WORD}{{16,64}}"),
    ("SK", f"{_HEX}{{32}}"),
    # Clouds and operations: DigitalOcean, Databricks, Doppler, Heroku, Vault, Grafana, Tailscale, New Relic, Sentry.
    *((f"{prefix}_v1_", f"{_HEX}{{64}}") for prefix in ("dop", "doo", "dor")),
    ("dapi", f"{_HEX}{{32}}"),
    ("dp.", "(?:pt|st|ct|sa|scim|audit)\\.[A-Za-z0-9_.-]{40,}+"),
    ("HRKU-", f"{_WORD}{{30,}}+"),
    ("hvs.", f"{_WORD}{{24,}}+"),
    ("hvb.", f"{_WORD}{{24,}}+"),
    ("glsa_", "[A-Za-z0-9]{32}_[A-Fa-f0-9]{8}"),
    ("glc_", "[A-Za-z0-9+/]{32,}+=*"),
    ("tskey-", f"(?:auth|api|client|scim|webhook)-{_WORD}{{20,}}+"),
    ("NRAK-", "[A-Z0-9]{27}"),
    ("sntrys_", "[A-Za-z0-9+/_-]{50,}+=*"),
    ("sntryu_", f"{_HEX}{{64}}"),
    # Vercel, Cloudflare, Netlify, Pulumi, Buildkite, CircleCI, Dynatrace, Alibaba.
    *((f"vc{kind}_", f"{_WORD}{{24,}}+") for kind in "piark"),
    *((f"cf{kind}_", "[A-Za-z0-9]{40,}+") for kind in ("k", "ut", "at")),
    ("v1.0-", f"{_HEX}{{24}}-{_HEX}{{146}}"),
    ("nfp_", "[A-Za-z0-9]{36,}+"),
    ("pul-", f"{_HEX}{{40}}"),
    ("bkua_", f"{_HEX}{{40}}"),
    ("CCIPAT_", f"{_WORD}{{40,}}+"),
    ("dt0c01.", "[A-Z0-9]{24}\\.[A-Z0-9]{64}"),
    ("LTAI", "[A-Za-z0-9]{20}"),
    # Databases: Supabase, PlanetScale, Xata.
    ("sbp_", f"(?:v0_)?{_HEX}{{40}}"),
    ("xau_", "[A-Za-z0-9]{30,}+"),
    ("sb_secret_", f"{_WORD}{{20,}}+"),
    *((f"pscale_{kind}_", "[A-Za-z0-9_.-]{32,}+") for kind in ("tkn", "pw", "oauth")),
    # Work: Atlassian, Linear, Notion, Figma, Postman, Dropbox, Airtable, HubSpot, Contentful, Sourcegraph.
    ("pat", f"[A-Za-z0-9]{{14}}\\.{_HEX}{{64}}"),
    ("pat-", f"(?:na|eu|ap)[0-9]-{_HEX}{{8}}(?:-{_HEX}{{4}}){{3}}-{_HEX}{{12}}"),
    ("CFPAT-", f"{_WORD}{{40,}}+"),
    ("sgp_", f"(?:{_HEX}{{16}}_|local_)?{_HEX}{{40}}"),
    ("lin_oauth_", "[A-Za-z0-9]{30,}+"),
    ("ATATT3", "[A-Za-z0-9_=-]{50,}+"),
    ("lin_api_", "[A-Za-z0-9]{30,}+"),
    ("ntn_", "[A-Za-z0-9]{40,}+"),
    ("secret_", "[A-Za-z0-9]{43}"),
    ("figd_", f"{_WORD}{{40,}}+"),
    ("PMAK-", f"{_HEX}{{24}}-{_HEX}{{34}}"),
    ("sl.", f"{_WORD}{{100,}}+"),
    ("AGE-SECRET-KEY-1", "[A-Z0-9]{58}"),
    # 1Password, Langfuse, Neon, PostHog, Render, Fly.
    ("ops_eyJ", f"{_WORD}{{50,}}+=*"),
    ("sk-lf-", f"{_HEX}{{8}}(?:-{_HEX}{{4}}){{3}}-{_HEX}{{12}}"),
    ("napi_", "[a-z0-9]{40,}+"),
    ("phx_", "[A-Za-z0-9]{40,}+"),
    ("rnd_", "[A-Za-z0-9]{28,}+"),
    ("FlyV1 fm2_", "[A-Za-z0-9+/]{30,}+=*"),
)
"""The beginning of a key, at the beginning of a word, and the pattern of the text that follows it."""

ELSEWHERE: tuple[tuple[str, str], ...] = (
    # Azure's client secrets, signed URLs and keys of models, Telegram's bots, Discord's webhooks, Terraform's tokens,
    # Google's refresh tokens.
    ("JQQJ9", "(?<![A-Za-z0-9])[A-Za-z0-9]{52}JQQJ9[A-Za-z0-9]{27}"),
    (".atlasv1.", r"(?<![A-Za-z0-9])[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_=-]{60,}+"),
    ("1//0", "(?<![A-Za-z0-9])1//0[A-Za-z0-9_-]{40,}+"),
    ("sig=", r"(?<=[?&;]sig=)(?:[A-Za-z0-9/+]|%[0-9A-Fa-f]{2}){40,}+=*"),
    ("8Q~", r"(?<![A-Za-z0-9_~.-])[A-Za-z0-9_~.-]{3}8Q~[A-Za-z0-9_~.-]{31,34}"),
    (":AA", r"(?<![A-Za-z0-9])[0-9]{8,10}:AA[A-Za-z0-9_-]{33}"),
    ("/webhooks/", r"discord(?:app)?\.com/api/webhooks/[0-9]{10,20}/[A-Za-z0-9_-]{40,}+"),
)
"""A text that each of these keys holds, and the whole pattern."""
