/// The text whose digest is a request's key, version 1.
///
/// It has one fact a line, `TAG CONTENT`, in the following order. No content contains a line feed, so that different
/// requests always have different forms:
///
/// ```
/// diamond 1                              the version
/// identity user-42                       the user, in place of the credentials; percent-encoded
/// cache-key cities                       the app's own key, in place of all lines below but the credentials
/// method GET                             HEAD counts as GET
/// origin https://api.example.com         lower case; the port unless it is the scheme's own
/// path /cities                           dot segments removed, percent-encoding in one form
/// query country=DE                       each item, sorted by name; equal names keep their order
/// secret-query token DIGEST              each secret parameter, keyed digest
/// header accept application/json         each selecting header, sorted by name; equal names keep their order
/// secret-header authorization DIGEST     each credential, keyed digest; the URL's user info is one
/// credential header a Bearer%20 token    each named secret: its place, prefix and name
/// type application/json                  the body's Content-Type, if there is a body
/// json {"a":1}                           a JSON body by RFC 8785 (secret-json and a digest with credentials), or
/// field a=1                              each item of a form, sorted like the query, or
/// part name=a 12 DIGEST                  each part of a multipart body, in order: its facts, length and SHA-256, or
/// bytes 12 DIGEST                        length and SHA-256 of any other body, files included
/// ```
///
/// A name without a value (`?a`), an empty value (`?a=`) and an absent name give three different forms. So do no body
/// and an empty body.
package struct CanonicalForm {
    package let bytes: [UInt8]

    package init(of request: borrowing Request, rules: borrowing KeyRules) throws(RequestError) {
        bytes = try Writer.form(of: try WireRequest.read(request), rules: rules)
    }

    package init(of request: borrowing WireRequest, rules: borrowing KeyRules) throws(RequestError) {
        bytes = try Writer.form(of: request, rules: rules)
    }

    package var text: String { String(decoding: bytes, as: UTF8.self) }

    package var key: RequestKey { RequestKey(of: bytes) }
}
