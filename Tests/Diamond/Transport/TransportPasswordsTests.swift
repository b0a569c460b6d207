import Foundation
import Testing

@testable import Diamond

@Suite("The passwords of a transport") struct TransportPasswordsTests {
    private struct PasswordProvider: CredentialProvider {
        func secret(_ name: String, for identity: String?) async throws -> String? { "value of \(name)" }
    }

    private func settings(proxy: Secret?, privateKey: Secret?) -> TransportSettings {
        var settings = TransportSettings()
        settings.proxy = .through(Proxy("http://h:1", username: "anna", password: proxy))
        let (certificate, key) = (URL(filePath: "/own.pem"), URL(filePath: "/own.key"))
        settings.tls.clientCertificate = .init(certificate: certificate, privateKey: key, password: privateKey)
        return settings
    }

    @Test(
        arguments: [
            (nil, nil, false), (.unnamed("a"), .unnamed("b"), false), (.secret("proxy"), nil, true),
            (nil, .secret("key"), true), (.unnamed("a"), .secret("key"), true),
        ] as [(Secret?, Secret?, Bool)])
    func `need a credential provider if one of them is a named secret`(
        proxy: Secret?, privateKey: Secret?, isNamed: Bool
    ) {
        #expect(settings(proxy: proxy, privateKey: privateKey).namesSecrets == isNamed)
    }

    @Test func `are resolved from the credential provider`() async throws {
        let settings = settings(proxy: .secret("proxy"), privateKey: .secret("key"))
        let passwords = try await TransportPasswords.resolved(for: settings, from: PasswordProvider())
        #expect(passwords.proxy == "value of proxy" && passwords.privateKey == "value of key")
    }

    @Test func `every password of a transport is in the list of entries for named secrets`() {
        let properties = TransportPasswords.entries(of: TransportSettings()).map(\.property)
        #expect(Set(properties).count == Mirror(reflecting: TransportPasswords()).children.count)
    }
}
