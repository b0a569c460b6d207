import Foundation

/// User info of a URL as an `Authorization` header (RFC 7617).
enum BasicCredentials {
    /// - Parameter userInfo: `user:password`, percent-encoded.
    static func header(_ userInfo: [UInt8]) -> String {
        let decoded = String(decoding: userInfo, as: UTF8.self).removingPercentEncoding ?? ""
        let pair = decoded.contains(":") ? decoded : decoded + ":"
        return "Basic " + Data(pair.utf8).base64EncodedString()
    }
}
