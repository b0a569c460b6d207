#if Tools
import ArgumentParser

/// The words that the program was called with.
enum Arguments {
    /// Refuses one that is not UTF-8: Swift would make another one of it, without a word.
    static func check() throws {
        for place in 1..<max(1, Int(CommandLine.argc)) {
            guard let word = CommandLine.unsafeArgv[place], String(validatingCString: word) == nil else { continue }
            throw Failure.report(
                Failure.usage, "argument \(place) is not UTF-8: write it in UTF-8, or a byte of a URL as in %E9")
        }
    }
}
#endif
