import Crypto
import Foundation
import HTTPTypes

/// The URL of a request that a gateway forwards byte for byte, and that is not in normal form. An origin may
/// distinguish it from its normal form.
package struct ForwardedURL {
    /// The URL as it is sent, with its secrets masked.
    package let text: String

    /// Reads the canonical form of a request; `nil` for any other request.
    package init?(inForm form: String) {
        // Only the version and the identity come before the key.
        let line = form.utf8.split(separator: UInt8(ascii: "\n")).prefix(3).first { $0.starts(with: Self.tag) }
        guard let line, let key = String(Substring(line.dropFirst(Self.tag.count))).removingPercentEncoding else {
            return nil
        }
        let words = key.split(separator: " ", omittingEmptySubsequences: false)
        guard words.count > 1, words[1].hasPrefix("http://") || words[1].hasPrefix("https://") else { return nil }
        text = String(words[1])
    }

    private static let tag = Array("cache-key ".utf8)

    /// Returns the cache key of the request (``Request/cacheKey``), which no other URL has: method, URL, and if secrets
    /// are masked there, a digest of the whole.
    static func cacheKey(of method: HTTPRequest.Method, _ url: String) -> String {
        let shown = masked(url)
        let name = "\(method.rawValue) \(url)"
        guard !shown.utf8.elementsEqual(url.utf8) else { return name }
        return "\(method.rawValue) \(shown) \(Hex.text(of: SHA256.hash(data: Data(name.utf8))))"
    }

    // MARK: Display

    private static let rules = KeyRules()

    /// Returns a URL byte for byte, with the values of secret parameters masked.
    package static func masked(_ url: String) -> String {
        let bytes = Array(url.utf8)
        guard let mark = bytes.firstIndex(of: UInt8(ascii: "?")) else { return url }
        let items = QueryItem.items(of: Array(bytes[(mark + 1)...])).map { item in
            isSecret(item) ? item.name + "=•••".utf8 : item.text
        }
        return String(decoding: bytes[...mark] + items.joined(separator: "&".utf8), as: UTF8.self)
    }

    private static func isSecret(_ item: QueryItem) -> Bool {
        rules.isSecret(item) || rules.isSecret(QueryItem(text: PercentEncoding.decode(Array(item.text))[...]))
    }
}
