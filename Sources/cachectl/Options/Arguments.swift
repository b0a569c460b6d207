#if Tools
import ArgumentParser

/// The arguments of the process.
enum Arguments {
    /// Throws a usage error for an argument that is not UTF-8. Swift would silently replace its invalid bytes.
    static func check() throws {
        for place in 1..<max(1, Int(CommandLine.argc)) {
            guard let word = CommandLine.unsafeArgv[place], String(validatingCString: word) == nil else { continue }
            throw Failure.report(
                Failure.usage, "argument \(place) is not UTF-8: write it in UTF-8, or a byte of a URL as in %E9")
        }
    }
}
#endif
