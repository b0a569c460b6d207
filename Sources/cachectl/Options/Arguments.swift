#if Tools
public import ArgumentParser
public import Diamond

/// The arguments of the process.
enum Arguments {
    /// Throws a usage error for an argument that is not UTF-8. Swift would silently replace its invalid bytes.
    static func check() throws {
        for index in 1..<max(1, Int(CommandLine.argc)) {
            guard let word = CommandLine.unsafeArgv[index], String(validatingCString: word) == nil else { continue }
            throw Failure.report(
                Failure.usage, "argument \(index) is not UTF-8: write it in UTF-8, or a byte of a URL as in %E9")
        }
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
