import HTTPTypes
import Testing

@testable import Diamond

@Suite struct `The rules of keys` {
    private static let ordinary = ["accept", "accept-language", "content-type"]

    @Test(arguments: ordinary) func `take a header for ordinary of which the lists say the same`(header: String) {
        #expect(KeyRules().isOrdinary(header))
        #expect(
            header.withBytes {
                CredentialNames.all.isSelecting(header: $0) && !CredentialNames.all.isSecret(header: $0)
            })
    }

    @Test(arguments: ["authorization", "cookie", "user-agent", "x-api-key", "x-tenant", ""])
    func `take no other for ordinary`(header: String) { #expect(!KeyRules().isOrdinary(header)) }

    @Test(arguments: [
        IdentityRules(secrets: ["Accept"]), IdentityRules(nonSelecting: ["accept"]),
    ]) func `ask those of the app about an ordinary header, too`(own: IdentityRules) throws {
        let request = Request("https://h/", headers: [.accept: "a"])
        let form = try CanonicalForm(of: request, rules: KeyRules(own: own)).text
        #expect(!form.contains("\nheader accept a\n"))
        #expect(form.contains("\nsecret-header accept ") == !own.secrets.isEmpty)
    }
}
