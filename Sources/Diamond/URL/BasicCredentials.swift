import Foundation

/// User info of a URL as an `Authorization` header (RFC 7617).
package enum BasicCredentials {
    /// - Parameter userInfo: `user:password`, percent-encoded.
    package static func header(_ userInfo: [UInt8]) -> String {
        // Bytes: not all of them are UTF-8, and with a mark behind it a colon is another `Character`.
        var pair = PercentEncoding.decode(userInfo)
        if !pair.contains(UInt8(ascii: ":")) { pair.append(UInt8(ascii: ":")) }
        return "Basic " + Data(pair).base64EncodedString()
    }
}
