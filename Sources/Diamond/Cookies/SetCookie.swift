import Foundation
import HTTPTypes

/// A parsed `Set-Cookie` field (RFC 6265bis section 5.6).
struct SetCookie {
    private(set) var name: CookieText
    private(set) var value: CookieText
    private(set) var expires: Date?
    /// The `Max-Age` in seconds.
    private(set) var maxAge: Double?
    private(set) var domain = ""
    private(set) var path = ""
    private(set) var isSecure = false
    private(set) var isHTTPOnly = false

    /// The maximum number of bytes of name and value.
    private static let longest = 4096
    /// The maximum number of bytes of an attribute's value.
    private static let longestAttribute = 1024

    /// Parses a field; `nil` if it must be ignored.
    init?(_ field: HTTPField) {
        let bytes = field.bytes
        guard let text = String(validating: bytes, as: UTF8.self) else {
            self.init(String(String.UnicodeScalarView(bytes.map { Unicode.Scalar($0) })))
            name = CookieText(latin: name.text)
            value = CookieText(latin: value.text)
            return
        }
        self.init(text)
    }

    init?(_ field: String) {
        guard !field.utf8.contains(where: { ($0 < 0x20 && $0 != 0x09) || $0 == 0x7f }) else { return nil }
        let parts = field.utf8.split(separator: UInt8(ascii: ";"), omittingEmptySubsequences: false).map {
            Substring($0)
        }
        let (first, second) = Self.pair(parts[0])
        // Without "=", all of it is the value.
        let (name, value) = second.map { (first, $0) } ?? ("", first)
        guard !name.isEmpty || !value.isEmpty, name.utf8.count + value.utf8.count <= Self.longest else { return nil }
        self.name = CookieText(name)
        self.value = CookieText(value)
        for part in parts.dropFirst() { read(part) }
    }

    // By bytes, as the standard requires: a delimiter with a combining mark is a different `Character`, so that the
    // attributes after it would escape the checks.
    private static func pair(_ text: Substring) -> (String, String?) {
        let parts = text.utf8.split(separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false).map {
            Substring($0).trimmingCharacters(in: .init(charactersIn: " \t"))
        }
        return (parts[0], parts.count > 1 ? parts[1] : nil)
    }

    // The last of several attributes with the same name counts. An invalid `Expires` or `Max-Age` is ignored.
    private mutating func read(_ attribute: Substring) {
        let (name, text) = Self.pair(attribute)
        let value = text ?? ""
        guard value.utf8.count <= Self.longestAttribute else { return }
        switch name.lowercased() {
        case "expires": expires = CookieDate.date(value) ?? expires
        case "max-age": maxAge = Self.seconds(value) ?? maxAge
        case "domain": domain = (value.first == "." ? String(value.dropFirst()) : value).lowercased()
        case "path": path = value
        case "secure": isSecure = true
        case "httponly": isHTTPOnly = true
        default: break
        }
    }

    // MARK: Cookie

    /// Returns the cookie that the field sets; `nil` if the server may not set it (RFC 6265bis section 5.7).
    func cookie(from origin: CookieOrigin, at now: Date) -> Cookie? {
        guard let (domain, isHostOnly) = scope(from: origin), origin.isSecure || !isSecure,
            meetsPrefixRules(isHostOnly)
        else { return nil }
        return Cookie(
            name, value, domain: domain, isHostOnly: isHostOnly,
            path: path.first == "/" ? path : origin.defaultPath,
            expires: expiry(at: now), isSecure: isSecure, isHTTPOnly: isHTTPOnly)
    }

    /// Returns the cookie's domain. A domain of one label (`com`, `localhost`) cannot be shared by hosts. Other public
    /// suffixes, such as `co.uk`, are not recognized.
    private func scope(from origin: CookieOrigin) -> (domain: String, isHostOnly: Bool)? {
        guard !domain.isEmpty, domain != origin.host || domain.contains(".") else { return (origin.host, true) }
        guard domain.contains("."), domain.last != ".", origin.isWithin(domain) else { return nil }
        return (domain, origin.isAddress)
    }

    /// Whether the cookie meets the requirements of its name's prefix (RFC 6265bis section 4.1.3). Case is ignored.
    private func meetsPrefixRules(_ isHostOnly: Bool) -> Bool {
        let name = name.text
        let prefixedText = (name.isEmpty ? value.text : name).lowercased()
        if prefixedText.hasPrefix("__secure-") { return isSecure && !name.isEmpty }
        guard prefixedText.hasPrefix("__host-") else { return true }
        return isSecure && isHostOnly && domain.isEmpty && path == "/" && !name.isEmpty
    }

    /// Returns the expiration date. `Max-Age` precedes `Expires`, and both are limited to 400 days (RFC 6265bis
    /// sections 5.6.1 and 5.6.2).
    private func expiry(at now: Date) -> Date? {
        let latest = now.addingTimeInterval(400 * 86400)
        if let maxAge { return maxAge <= 0 ? .distantPast : min(latest, now.addingTimeInterval(maxAge)) }
        return expires.map { min(latest, $0) }
    }

    private static func seconds(_ text: String) -> Double? {
        text.wholeMatch(of: #/-?[0-9]+/#) == nil ? nil : Double(text)
    }
}
