import Diamond

/// The names of the shell variables for a command's credentials. Each name is used once.
struct ShellVariables {
    private var used: Set<String> = []
    /// The last number of each repeated name.
    private var numbers: [String: Int] = [:]

    /// Returns a variable name: in capitals, with `_` for other characters, and with a number if it is used already.
    mutating func name(for name: some StringProtocol) -> String {
        let letters = name.unicodeScalars.map { Self.isLetter($0) ? Character($0).uppercased() : "_" }.joined()
        let words = letters.split(separator: "_").joined(separator: "_")
        let stem = words.first?.isLetter == true && !Self.reserved.contains(words) ? words : "SECRET_" + words
        var unique = stem
        while !used.insert(unique).inserted {
            let number = numbers[stem, default: 1] + 1
            numbers[stem] = number
            unique = "\(stem)_\(number)"
        }
        return unique
    }

    /// The variables that shells, logins and terminals set (POSIX, XBD section 8; the manuals of bash and zsh). Without
    /// a prefix, such a value would be sent if the user does not set the secret.
    private static let reserved: Set<String> = [
        "ARGV", "CDPATH", "COLUMNS", "DIRSTACK", "DISPLAY", "EDITOR", "EGID", "ENV", "EUID", "FPATH", "GID", "GROUPS",
        "HISTCMD", "HISTFILE", "HISTSIZE", "HOME", "HOST", "HOSTNAME", "HOSTTYPE", "IFS", "LANG", "LANGUAGE", "LINENO",
        "LINES", "LOGNAME", "MACHTYPE", "MAIL", "MAILPATH", "MANPATH", "OLDPWD", "OPTARG", "OPTERR", "OPTIND",
        "OSTYPE", "PAGER", "PATH", "PPID", "PROMPT", "PS1", "PS2", "PS3", "PS4", "PWD", "RANDOM", "REPLY", "SECONDS",
        "SHELL", "SHELLOPTS", "SHLVL", "STATUS", "TEMP", "TERM", "TMP", "TMPDIR", "TTY", "TZ", "UID", "USER",
        "USERNAME", "VENDOR", "VISUAL",
    ]

    private static func isLetter(_ scalar: Unicode.Scalar) -> Bool {
        ("a"..."z").contains(scalar) || ("A"..."Z").contains(scalar) || ("0"..."9").contains(scalar)
    }
}
