import Diamond

/// Names of the shell variables that stand for a command's credentials, each given once.
struct ShellVariables {
    private var given: Set<String> = []
    /// The last of each that were numbered.
    private var numbers: [String: Int] = [:]

    /// The name in capitals, what no variable's name has as `_`, with a number where it was given before.
    mutating func name(for name: some StringProtocol) -> String {
        let letters = name.unicodeScalars.map { Self.isLetter($0) ? Character($0).uppercased() : "_" }.joined()
        let words = letters.split(separator: "_").joined(separator: "_")
        let stem = words.first?.isLetter == true && !Self.taken.contains(words) ? words : "SECRET_" + words
        var unique = stem
        while !given.insert(unique).inserted {
            let number = numbers[stem, default: 1] + 1
            numbers[stem] = number
            unique = "\(stem)_\(number)"
        }
        return unique
    }

    /// The variables that shells, logins and terminals have set already. Such a variable would be sent in a secret's
    /// place where the user does not set it (POSIX, XBD section 8; the manuals of bash and zsh).
    private static let taken: Set<String> = [
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
