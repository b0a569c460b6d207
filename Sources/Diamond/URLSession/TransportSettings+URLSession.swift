import Foundation

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

extension TransportSettings {
    /// The error for settings that URLSession does not support; `nil` if it supports all.
    var refusal: TransportError? {
        let usual = TransportSettings()
        var left = self
        #if !canImport(FoundationNetworking)
        if left.proxy == .none { left.proxy = usual.proxy }
        left.tls.minimumVersion = nil
        #endif
        let refused = [
            left.proxy == usual.proxy ? nil : "another proxy than the system's",
            left.tls.roots == usual.tls.roots ? nil : "other roots than the system's",
            left.tls.minimumVersion == nil ? nil : "a minimum version of TLS",
            left.tls.clientCertificate == nil ? nil : "a client certificate",
            left.tls.pins.isEmpty ? nil : "pins",
        ].compactMap { $0 }
        guard !refused.isEmpty else { return nil }
        let what = refused.joined(separator: ", ")
        return .badSettings("URLSession does not support \(what) here: \(Self.advice)")
    }

    #if canImport(FoundationNetworking)
    private static let advice = "use the transport over libcurl, with the package trait Curl"
    #else
    private static let advice =
        "use the system's settings (for pins, NSPinnedDomains in Info.plist), or HTTPClientTransport with a client"
    #endif
}
