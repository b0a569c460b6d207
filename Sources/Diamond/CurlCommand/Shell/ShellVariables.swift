/// Names of the shell variables that stand for a command's credentials, each given once.
struct ShellVariables {
    private var given: Set<String> = []

    /// The name in capitals, what no variable's name has as `_`, with a number where it was given before.
    mutating func name(for name: some StringProtocol) -> String {
        let letters = name.unicodeScalars.map { Self.isLetter($0) ? Character($0).uppercased() : "_" }.joined()
        let words = letters.split(separator: "_").joined(separator: "_")
        // The shell keeps its folder under this name.
        let stem = words.first?.isLetter == true && words != "PWD" ? words : "SECRET_" + words
        var number = 1
        var unique: String { number == 1 ? stem : "\(stem)_\(number)" }
        while given.contains(unique) { number += 1 }
        given.insert(unique)
        return unique
    }

    private static func isLetter(_ scalar: Unicode.Scalar) -> Bool {
        ("a"..."z").contains(scalar) || ("A"..."Z").contains(scalar) || ("0"..."9").contains(scalar)
    }
}
