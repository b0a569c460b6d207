#if Tools
public import ArgumentParser
public import Diamond

/// The arguments of the process.
enum Arguments {
    /// Throws a usage error for an argument that is not UTF-8, because Swift would silently replace its invalid bytes,
    /// and for the URL of a server with a password. No later message can then repeat the password.
    static func check() throws {
        for index in 1..<max(1, Int(CommandLine.argc)) {
            guard let word = CommandLine.unsafeArgv[index] else { continue }
            guard let text = String(validatingCString: word) else {
                throw Failure.report(
                    Failure.usage, "argument \(index) is not UTF-8: write it in UTF-8, or a byte of a URL as in %E9")
            }
            if ServerURL(value(of: text))?.hasPassword == true {
                throw Failure.report(Failure.usage, "argument \(index) \(password)")
            }
        }
    }

    private static let password = """
        is a URL with a password, which other users of this machine can read: leave it out, and have it in ~/.pgpass, a \
        service file or PGPASSWORD; or put the URL into the variable \(QueueServer.variable) or \
        \(CacheServer.variable) instead
        """

    /// Returns the value of an option that has one after a sign, otherwise the word.
    private static func value(of word: String) -> String {
        guard word.hasPrefix("-"), let sign = word.firstIndex(of: "=") else { return word }
        return String(word[word.index(after: sign)...])
    }
}

// MARK: Types of Diamond

extension ReplayState: ExpressibleByArgument {
    public init?(argument: String) { self.init(argument) }

    public static var allValueStrings: [String] { allCases.map(\.description) }
}

extension ReplayPolicy.Uniqueness: ExpressibleByArgument {}

extension CacheOrder: ExpressibleByArgument {}
#endif
