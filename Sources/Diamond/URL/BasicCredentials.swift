import Foundation

/// Basic credentials from the user info of a URL (RFC 7617).
package enum BasicCredentials {
    /// Returns the value of an `Authorization` header.
    ///
    /// - Parameter userInfo: `user:password`, percent-encoded.
    package static func header(_ userInfo: [UInt8]) -> String {
        // As bytes: they may not be UTF-8, and a colon with a combining mark is a different `Character`.
        var pair = PercentEncoding.decode(userInfo)
        if !pair.contains(UInt8(ascii: ":")) { pair.append(UInt8(ascii: ":")) }
        return "Basic " + Data(pair).base64EncodedString()
    }
}
