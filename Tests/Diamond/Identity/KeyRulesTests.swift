import HTTPTypes
import Testing

@testable import Diamond

@Suite("The rules of keys") struct KeyRulesTests {
    private static let ordinary = ["accept", "accept-language", "content-type"]

    @Test(arguments: ordinary) func `treat a selecting header without secrets as ordinary`(header: String) {
        #expect(KeyRules().isOrdinary(header))
        #expect(
            header.withBytes {
                CredentialNames.all.isSelecting(header: $0) && !CredentialNames.all.isSecret(header: $0)
            })
    }

    @Test(arguments: ["authorization", "cookie", "user-agent", "x-api-key", "x-tenant", ""])
    func `treat no other header as ordinary`(header: String) { #expect(!KeyRules().isOrdinary(header)) }

    @Test(arguments: [
        IdentityRules(secrets: ["Accept"]), IdentityRules(nonSelecting: ["accept"]),
    ]) func `apply the app's rules to an ordinary header, too`(own: IdentityRules) throws {
        let request = Request("https://h/", headers: [.accept: "a"])
        let form = try CanonicalForm(of: request, rules: KeyRules(own: own)).text
        #expect(!form.contains("\nheader accept a\n"))
        #expect(form.contains("\nsecret-header accept ") == !own.secrets.isEmpty)
    }
}
