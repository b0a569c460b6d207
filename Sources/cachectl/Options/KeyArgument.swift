#if Tools
import ArgumentParser
import Diamond

/// A cache key from the command line: 64 hexadecimal digits, or a unique prefix of them.
struct KeyArgument {
    private let digits: String

    init(_ digits: String) { self.digits = digits }

    /// Returns the only entry whose key begins with the digits.
    func find(in cache: Cache) throws -> CacheListing {
        guard !digits.isEmpty else { throw nothing("the key is empty: look it up with 'cachectl list'") }
        let found = try cache.list(beginning: digits)
        guard let listing = found.first else {
            throw nothing("no entry's key begins with '\(digits)': look it up with 'cachectl list'")
        }
        guard found.count == 1 else { throw nothing("several keys begin with '\(digits)': give more of it") }
        return listing
    }

    private func nothing(_ message: String) -> ExitCode { Failure.report(Failure.nothingFound, message) }
}
#endif
