#if Tools
import Diamond

/// A key as a person types it: 64 hexadecimal digits, or the first few.
struct KeyArgument {
    private let digits: String

    init(_ digits: String) { self.digits = digits }

    /// The one entry whose key begins so.
    func find(in cache: Cache) throws(CacheError) -> CacheListing {
        guard !digits.isEmpty else { throw CacheError(.other, "the key is empty: look it up with 'cachectl list'") }
        let found = try cache.list(beginning: digits)
        guard let listing = found.first else {
            throw CacheError(.other, "no entry's key begins with '\(digits)': look it up with 'cachectl list'")
        }
        guard found.count == 1 else {
            throw CacheError(.other, "several keys begin with '\(digits)': give more of it")
        }
        return listing
    }
}
#endif
