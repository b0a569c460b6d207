/// A recorded access of the cache. It identifies the request by the first 64 bits of its key.
package struct CacheAccess: Hashable, Sendable {
    package enum Kind: Int64, Sendable {
        /// A response from the cache, revalidated or not.
        case hit = 0
        /// A miss, whose response was stored.
        case stored = 1
        /// A response that replaced an outdated one. This happens at any capacity of the cache.
        case replaced = 2
    }

    /// The bytes an entry takes besides its body and headers: its rows, its part of the indexes, and the unused ends of
    /// pages.
    package static let rowSize: Int64 = 768

    /// ``RequestKey/prefix``.
    package var prefix: Int64
    /// The bytes of the body, before the store compresses and seals it.
    package var bodySize: Int64
    /// The bytes the entry takes; if it is written, the bytes it takes on disk.
    package var entrySize: Int64
    /// The time of the access, in seconds since 1970.
    package var second: Int64
    package var kind: Kind
    /// The number of accesses of the same key within the same second, this one included.
    package var uses: Int64 = 1
    package var sampling = Sampling()
    /// The accesses outside the sample since the previous recorded access.
    package var passed = Passed()

    /// Accesses outside the sample.
    package struct Passed: Hashable, Sendable {
        package var uses: Int64 = 0
        /// The bytes of their bodies.
        package var bytes: Int64 = 0

        package init(uses: Int64 = 0, bytes: Int64 = 0) {
            self.uses = uses
            self.bytes = bytes
        }
    }

    package init(prefix: Int64, bodySize: Int64, entrySize: Int64, second: Int64, kind: Kind) {
        self.prefix = prefix
        self.bodySize = bodySize
        self.entrySize = entrySize
        self.second = second
        self.kind = kind
    }

    init(_ kind: Kind, of stored: StoredResponse, under key: RequestKey, at now: WallTime) {
        let bodySize = Int64(stored.bodySize)
        self.init(
            prefix: key.prefix,
            bodySize: bodySize,
            entrySize: bodySize + Int64(stored.headerBlock.count) + Self.rowSize,
            second: now.second,
            kind: kind
        )
    }
}

/// The sample of keys whose accesses are recorded: the keys whose first bits are 0. A key is a digest, so this is a
/// fair sample of all keys. (Waldspurger and others, "Efficient MRC Construction with SHARDS", FAST 2015.)
package struct Sampling: Hashable, Sendable {
    /// The number of zero bits: one key in `1 << shift` is recorded.
    package var shift: Int64

    package init(shift: Int64 = 0) { self.shift = min(max(0, shift), Self.largestShift) }

    static let largestShift: Int64 = 20

    /// The recorded part of all keys.
    package var rate: Double { 1 / Double(Int64(1) << shift) }

    package func has(_ prefix: Int64) -> Bool { UInt64(bitPattern: prefix) <= UInt64.max >> UInt64(shift) }

    /// Returns the sample for the next turn of the ring. If the ring has more keys than a good estimate needs, the
    /// sample is halved, so that the ring reaches twice as far back; not beyond four weeks. If it has too few, the
    /// sample is doubled.
    func next(keys: Int64, seconds: Int64) -> Sampling {
        switch keys {
        case ..<2048: Sampling(shift: shift - 1)
        case 8192... where seconds < 28 * 86_400: Sampling(shift: shift + 1)
        default: self
        }
    }
}

/// Whether a store records its accesses; by default it does not.
package enum AccessRecording: Hashable, Sendable {
    case off
    /// Accesses of a sample of the keys are recorded.
    case on(Sampling)
}
