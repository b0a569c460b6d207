#if Valkey
import Diamond
import Foundation

/// The names of the keys on a server.
///
/// The part in braces decides the slot of a cluster: everything of a request is in one slot, so that a script can
/// change it at once.
struct ValkeyKeys: Sendable {
    let prefix: String

    /// The hash of all records that lookups find under a request key: itself, and its variants.
    func records(under key: RequestKey) -> String { "\(prefix):{\(key)}" }

    /// A pattern of ``records(under:)``.
    var anyRecords: String { "\(prefix):{*}" }

    /// Returns the request key of a hash; `nil` for other keys.
    func requestKey(of name: some StringProtocol) -> RequestKey? {
        guard name.hasPrefix("\(prefix):{"), name.hasSuffix("}") else { return nil }
        return RequestKey(String(name.dropFirst(prefix.count + 2).dropLast()))
    }

    /// The chunks of a body.
    ///
    /// - Parameter id: ``ValkeyRow/bodyName(of:)``.
    func chunks(_ numbers: Range<Int>, of id: String, under key: RequestKey) -> [String] {
        numbers.map { "\(prefix):{\(key)}:\(id):\($0)" }
    }

    /// The request key under which a variant is found.
    func owner(of key: RequestKey) -> String { "\(prefix):{\(key)}:of" }

    /// A lease on the request of a key.
    func lease(_ lease: CacheLease) -> String { "\(prefix):{\(lease.key)}:lease:\(lease.name)" }

    /// The stamp of a name, or the one that it shares.
    func stamp(of name: ValkeyName) -> String { "\(prefix):\(name.text)" }

    /// The channel of announcements.
    var channel: String { "\(prefix):changes" }
}

/// A name by which records are selected, as the server has it: the hash of ``CacheName``.
struct ValkeyName: Hashable, Sendable {
    /// The hash.
    let id: UInt64
    let text: String
    /// Whether so many records have the name that a change of it changes everything in memory.
    let isCommon: Bool

    /// The name of all records.
    static let all = ValkeyName(id: 0, text: "all", isCommon: true)

    private init(id: UInt64, text: String, isCommon: Bool) {
        self.id = id
        self.text = text
        self.isCommon = isCommon
    }

    /// - Parameter name: one of ``CacheRecord/names``.
    init(_ name: String) {
        let name = CacheName(name)
        // Every record has a URL of its own: 65,536 stamps for all of them, instead of one for each.
        if name.isURL {
            let bucket = name.hash & 0xFFFF
            self.init(id: bucket | 1 << 16, text: "url:\(bucket)", isCommon: false)
        } else {
            self.init(
                id: name.hash, text: "name:" + String(name.hash, radix: 16).padded(to: 16), isCommon: name.isCommon)
        }
    }

    /// The time after which the server drops its stamp, and with it the records of the name; `nil` for never.
    var expiry: Duration? { isCommon ? nil : .seconds(45 * 86_400) }
}

extension String {
    /// Returns the text, which is ASCII, after so many characters that it has a width.
    func padded(to width: Int, with character: String = "0") -> String {
        String(repeating: character, count: max(0, width - utf8.count)) + self
    }
}
#endif
