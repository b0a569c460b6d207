import Foundation
import HTTPTypes

/// A `Set-Cookie` field as it stands (RFC 6265bis section 5.6).
struct SetCookie {
    private(set) var name: CookieText
    private(set) var value: CookieText
    private(set) var expires: Date?
    /// Seconds.
    private(set) var maxAge: Double?
    private(set) var domain = ""
    private(set) var path = ""
    private(set) var isSecure = false
    private(set) var isHTTPOnly = false

    /// Bytes of name and value, and of an attribute's value.
    private static let (longest, longestAttribute) = (4096, 1024)

    /// `nil` where it is to be ignored.
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

    // By bytes, as the standard says and servers read it: as a character, a sign is none where a mark combines with it, and
    // what stands behind it would go past every check.
    private static func pair(_ text: Substring) -> (String, String?) {
        let parts = text.utf8.split(separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false).map {
            Substring($0).trimmingCharacters(in: .init(charactersIn: " \t"))
        }
        return (parts[0], parts.count > 1 ? parts[1] : nil)
    }

    // Of two attributes of one name the last counts, but for a time that is none: such are passed over.
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

    // MARK: What becomes of it

    /// The cookie that it sets; `nil` where the server may not (RFC 6265bis section 5.7).
    func cookie(from origin: CookieOrigin, at now: Date) -> Cookie? {
        guard let (domain, isHostOnly) = place(from: origin), origin.isSecure || !isSecure,
            isNamedRightly(isHostOnly)
        else { return nil }
        return Cookie(
            name, value, domain: domain, isHostOnly: isHostOnly,
            path: path.first == "/" ? path : origin.defaultPath,
            expires: expiry(at: now), isSecure: isSecure, isHTTPOnly: isHTTPOnly)
    }

    /// Returns the place of the cookie. A name of one label (`com`, `localhost`) cannot be shared. Other names that
    /// cannot be shared, such as `co.uk`, are known to a list only, which is not here.
    private func place(from origin: CookieOrigin) -> (domain: String, isHostOnly: Bool)? {
        guard !domain.isEmpty, domain != origin.host || domain.contains(".") else { return (origin.host, true) }
        guard domain.contains("."), domain.last != ".", origin.isWithin(domain) else { return nil }
        return (domain, origin.isAddress)
    }

    /// Whether it is what the prefix of its name promises (RFC 6265bis section 4.1.3), in any case of letters.
    private func isNamedRightly(_ isHostOnly: Bool) -> Bool {
        let name = name.text
        let promise = (name.isEmpty ? value.text : name).lowercased()
        if promise.hasPrefix("__secure-") { return isSecure && !name.isEmpty }
        guard promise.hasPrefix("__host-") else { return true }
        return isSecure && isHostOnly && domain.isEmpty && path == "/" && !name.isEmpty
    }

    /// `Max-Age` counts before `Expires`; neither more than 400 days (RFC 6265bis sections 5.6.1 and 5.6.2).
    private func expiry(at now: Date) -> Date? {
        let latest = now.addingTimeInterval(400 * 86400)
        if let maxAge { return maxAge <= 0 ? .distantPast : min(latest, now.addingTimeInterval(maxAge)) }
        return expires.map { min(latest, $0) }
    }

    private static func seconds(_ text: String) -> Double? {
        text.wholeMatch(of: #/-?[0-9]+/#) == nil ? nil : Double(text)
    }
}
