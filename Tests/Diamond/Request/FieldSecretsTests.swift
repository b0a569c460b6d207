import Foundation
import HTTPTypes
import Testing

@testable import Diamond

@Suite("Secrets in a response's fields") struct FieldSecretsTests {
    private func field(_ name: String, _ value: String) throws -> HTTPField { try HTTPField(checking: name, value) }

    @Test(arguments: [
        ("X-Auth-Token", "s3cret", "•••"), ("X-Api-Key", "s3cret", "•••"),
        ("Authentication-Info", "a=\"s3cret\"", "•••"),
        ("Proxy-Authentication-Info", "s3cret", "•••"), ("Set-Cookie", "a=s3cret; Path=/", "a=•••; Path=/"),
        ("Set-Cookie2", "a=s3cret", "•••"), ("Authorization", "s3cret", "•••"),
        ("X-Amz-Security-Token", "s3cret", "•••"),
        ("Location", "http://u:s3cret@h/a", "http://h/a"), ("Location", "//s3cret@h/a", "//h/a"),
        ("Location", "/x#access_token=s3cret", "/x"),
        ("Location", "/x?a=1&access_token=s3cret&b=2", "/x?a=1&access_token=•••&b=2"),
        ("Location", "?token=s3cret", "?token=•••"),
        ("Location", "/cb?code=s3cret&state=s3cret", "/cb?code=•••&state=•••"),
        ("Location", "/a?next=/b?token=s3cret", "/a?next=/b?token=•••"),
        ("Location", "/?ticket=s3cret", "/?ticket=•••"),
        ("Location", "/?user%5Bpassword%5D=s3cret", "/?user%5Bpassword%5D=•••"),
        ("Location", #"/?a={"token":"s3cret"}"#, "/?a=•••"),
        ("Location", "/?a=%7B%22token%22%3A%22s3cret%22%7D", "/?a=•••"),
        ("Content-Location", "/x?sig=s3cret", "/x?sig=•••"),
        ("Content-Location", "https://a:s3cret@h/@?b=1", "https://h/@?b=1"),
        ("Link", "</?page=2&sas=s3cret>; rel=next", "</?page=2&sas=•••>; rel=next"),
        ("Link", "<https://u:s3cret@h/>; rel=next, </b>", "<https://h/>; rel=next, </b>"),
        ("Link", "</b?X-Amz-Signature=s3cret>; title=\"a=b\"", "</b?X-Amz-Signature=•••>; title=\"a=b\""),
        ("Refresh", "0; url=/x?client_secret=s3cret", "0; url=/x?client_secret=•••"),
        ("X-Next", "https://h/?SAMLResponse=s3cret&a=1", "https://h/?SAMLResponse=•••&a=1"),
        ("WWW-Authenticate", "Negotiate s3cret, Basic realm=\"b\"", "Negotiate •••, Basic realm=\"b\""),
    ])
    func `secrets in fields are found, and masked`(name: String, value: String, masked: String) throws {
        let field = try field(name, value)
        #expect(FieldSecrets().holdsSecret(field))
        #expect(FieldSecrets().masked(field) == masked && !masked.contains("s3cret"))
    }

    @Test(arguments: [
        ("Location", "/x?page=1&countrycode=DE"), ("Location", "https://h/@user/x:y"), ("Location", "/x#section"),
        ("Location", "/x?token"), ("Location", "/x?a=1&b=@c"), ("Link", "</?page=2>; rel=next; title=\"token=1\""),
        ("Link", "<https://h/@scope/x>; rel=next"), ("X-Next", "https://h/?code=DE"),
        ("Link", "<https://h/issues?state=open&page=2>; rel=next"), ("ETag", "\"a&token\""),
        ("WWW-Authenticate", "Bearer realm=\"a\", error=\"invalid_token\""), ("WWW-Authenticate", "Negotiate"),
        ("Content-Type", "text/plain; charset=utf-8"), ("Cache-Control", "max-age=60"), ("Server", "a"),
    ])
    func `secrets are not found in fields without secrets`(name: String, value: String) throws {
        #expect(try !FieldSecrets().holdsSecret(field(name, value)))
    }

    @Test func `secrets in fields include those that an app has named`() throws {
        let secrets = FieldSecrets(own: IdentityRules(secrets: ["X-Whatever", "appid"]))
        #expect(try secrets.holdsSecret(field("x-whatever", "1")))
        #expect(
            try secrets.masked(field("Location", "/a?AppID=1&user%5Bappid%5D=2&b=3"))
                == "/a?AppID=•••&user%5Bappid%5D=•••&b=3")
        #expect(try !FieldSecrets().holdsSecret(field("Location", "/a?appid=1")))
    }

    @Test(arguments: ["?", "=", "?a=", "//", "#", "@", "?=%7B"])
    func `secrets in fields are found in one pass`(piece: String) throws {
        let value = String(repeating: piece, count: (1 << 18) / piece.utf8.count)
        let time = try ContinuousClock().measure { _ = try FieldSecrets().holdsSecret(field("Location", value)) }
        #expect(time < .seconds(20))
    }

    @Test(arguments: [
        "code_verifier", "client_assertion", "assertion", "device_code", "SAMLResponse", "sas", "sig",
        "X-Amz-Credential",
        "X-Amz-Security-Token", "X-Goog-Signature", "Signature", "id_token", "refresh_token", "client_secret",
    ])
    func `secrets in fields are also found by the names of secrets in requests`(name: String) {
        #expect(SecretNames.contains(item: name + "=1") && SecretNames.contains(member: name))
    }
}
