import DiamondTestSupport
import Foundation
import HTTPTypes
import Testing

@testable import Diamond
@testable import DiamondCurlCommand

@Suite("A form of a curl command") struct CurlFormTests {
    private static func parts(_ arguments: String) throws -> [MultipartPart]? {
        guard case .multipart(let parts) = try Request(curl: "curl http://h/ " + arguments).body else { return nil }
        return parts
    }

    private static func part(_ text: String, _ filename: String? = nil, type: String? = nil) -> MultipartPart {
        MultipartPart("a", .bytes(Data(text.utf8)), filename: filename, contentType: type)
    }

    private static func file(_ path: String, _ filename: String?, type: String?) -> MultipartPart {
        MultipartPart("a", .file(URL(filePath: path)), filename: filename, contentType: type)
    }

    @Test(
        arguments: [
            ("-F a=b", part("b")), ("-Fa=b", part("b")), ("--form a=b=c", part("b=c")), ("--form=a=b", part("b")),
            ("-F a=", part("")), ("-F 'a=\"\"'", part("")), ("-F 'a= b c\t'", part("b c")), ("-F a=b,c", part("b,c")),
            (#"-F 'a=" b;\"\\\n "'"#, part(" b;\"\\\\n ")), ("-F 'a=\"b'", part("\"b")), ("-F a=')'", part(")")),
            ("-F 'a=\"b\" ;type=c/d'", part("b", type: "c/d")), ("-F 'a=b;'", part("b")),
            ("-F 'a=b;type=c/d; e=\"f g\" ;filename=h'", part("b", "h", type: "c/d; e=\"f g\"")),
            ("-F 'a=b; FILENAME= h ; Type= c/d,e'", part("b", "h", type: "c/d,e")),
            ("-F 'a=b;type=c/d;type=e/f'", part("b", type: "c/d;type=e/f")),
            ("-F 'a=b;;type=c/d;;'", part("b", type: "c/d;;")),
            (#"-F 'a=b;filename="c\";\\d"'"#, part("b", "c\";\\d")), ("-F 'a=b;filename='", part("b", "")),
            ("-F 'a=b;filename=c;filename=d'", part("b", "d")),
            ("-F 'a=b;filename=d/c.PNG'", part("b", "d/c.PNG", type: "image/png")),
            ("-F a=$'\\xff'", MultipartPart("a", .bytes(Data([0xFF])))), ("-F a=$'b\\n'", part("b")),
            ("-F 'a=@/d/c'", file("/d/c", "c", type: "application/octet-stream")),
            ("-F 'a=@c.png'", file("c.png", "c.png", type: "image/png")),
            ("-F 'a=@\"/d,;/c.txt\"'", file("/d,;/c.txt", "c.txt", type: "text/plain")),
            ("-F 'a=@/c.png;filename=e;type=f/g'", file("/c.png", "e", type: "f/g")),
            ("-F 'a=@/c.png;filename=e.bin'", file("/c.png", "e.bin", type: "image/png")),
            ("-F 'a=@/c.bin;filename=e.html'", file("/c.bin", "e.html", type: "text/html")),
            ("-F 'a=</d/c'", file("/d/c", nil, type: nil)), ("-F 'a=</c.txt'", file("/c.txt", nil, type: nil)),
            ("-F 'a=</c.svg'", file("/c.svg", nil, type: "image/svg+xml")),
            ("-F 'a=</c,d;type=e/f'", file("/c,d", nil, type: "e/f")),
            ("--form-string 'a=@b;type=c/d'", part("@b;type=c/d")), ("--form-string 'a=\"b\" '", part("\"b\" ")),
        ])
    func `has the part that curl would send`(arguments: String, part: MultipartPart) throws {
        let parts = try Self.parts(arguments)
        #expect(parts == [part])
    }

    @Test func `is sent by POST, with its parts in order and a Content-Type of its own`() throws {
        let request = try Request(
            curl: "curl -F b=1 --form-string a=2 -F b=3 -H 'content-type: Multipart/form-data' -G http://h/?c")
        let parts = [MultipartPart("b", "1"), MultipartPart("a", "2"), MultipartPart("b", "3")]
        var expected = Request("http://h/", method: .post, parameters: ["c": JSONValue.null], body: .multipart(parts))
        expected.destination = .query
        #expect(request == expected)
        #expect(try Request(curl: "curl -X PUT -F a=b http://h/").method == .put)
    }

    @Test(
        arguments: [
            ("-F a", 9, "write name=content"), ("-F '=b'", 9, "no name"), ("--form-string '=b'", 20, "no name"),
            ("-F '=(;type=multipart/alternative'", 9, "no name"), ("-F 'a=(b'", 9, "parts within a part"),
            ("-F a=@-", 9, "standard input"), ("-F 'a=<-'", 9, "standard input"), ("-F a=@", 9, "is not named"),
            ("-F a=@b,c", 9, "several files"), ("-F 'a=@b;type=c/d,e'", 9, "several files"),
            ("-F 'a=b;headers=\"X: y\"'", 9, "';headers='"), ("-F 'a=b;type=c/d;encoder=base64'", 9, "';encoder='"),
            ("-F 'a=b;c'", 9, "what follows the ';'"), ("-F 'a=\"b\"c'", 9, "what follows the quotes"),
            ("-F 'a=b;type=c'", 9, "text/plain"), ("-F 'a=b;type=c /d'", 9, "text/plain"),
            ("-F 'a=b;type=c/'", 9, "text/plain"), ("-F 'a=<b;filename=c'", 9, "no filename with '<'"),
            ("-F $'a=b;type=c/d\\x01'", 9, "control character"), ("-F $'\\xff=b'", 9, "UTF-8"),
            ("-F $'a=@\\xff'", 9, "UTF-8"), ("-F a=b -d c", 16, "data or a form"),
            ("-d c -F a=b", 14, "data or a form"),
            ("-F a=b --json 1", 20, "data or a form"), ("-I -F a=b", 25, "sends no form"),
            ("-F a=b -H Content-Type:", 39, "sets its own"), ("-F a=b -H Content-Type:a/b", 42, "sets its own"),
        ])
    func `is refused if a request cannot express it`(arguments: String, position: Int, part: String) {
        let text = "curl \(arguments) http://h/"
        let error = #expect(throws: RequestError.self) { try Request(curl: text) }
        #expect(error?.code == .malformedCurl)
        #expect(error?.message.contains("at character \(position): ") == true, "\(error?.message ?? "")")
        #expect(error?.message.contains(part) == true, "\(error?.message ?? "")")
    }

    @Test(arguments: ["-F a=b;s3cret", "-F 'a=\"b\"s3cret'", "-F 'a=b;type=s3cret'", "-F 'a=(s3cret'"])
    func `is refused without its values in the message`(arguments: String) {
        let error = #expect(throws: RequestError.self) { try Self.parts(arguments.replacing(";s", with: "\\;s")) }
        #expect(error?.message.contains("cret") == false, "\(error?.message ?? "")")
    }

    // MARK: Written

    private static func request(_ parts: MultipartPart...) -> Request {
        Request("http://h/", method: .post, body: .multipart(parts))
    }

    @Test(
        arguments: [
            (part("b"), "--form-string 'a=b'"), (part("@b;'"), #"--form-string 'a=@b;'\'''"#),
            (part("b\n"), #"-F "$(printf 'a="b\n"')""#), (part("\n!b"), #"--form-string "$(printf 'a=\n\041b')""#),
            (part(" \"\\;", type: "c/d"), #"-F 'a=" \"\\;";type=c/d'"#),
            (part("b", "c d", type: "e/f; g=h"), #"-F 'a="b";type=e/f; g=h;filename="c d"'"#),
            (part("b", "c"), #"-F 'a="b";filename=c'"#), (part("b", ""), #"-F 'a="b";filename=""'"#),
            (file("/d/c", "c", type: "e/f"), "-F 'a=@/d/c;type=e/f'"),
            (file("/d/c", "g\"", type: "e/f"), #"-F 'a=@/d/c;type=e/f;filename="g\""'"#),
            (file("/d,/c", nil, type: nil), #"-F 'a=<"/d,/c"'"#),
            (file("/d\n", nil, type: nil), #"-F "$(printf 'a=<"/d\n"')""#),
        ])
    func `is written with an option for each part`(part: MultipartPart, option: String) throws {
        #expect(try Self.request(part).curlCommand() == "curl 'http://h/' " + option)
    }

    @Test(
        arguments: [
            (MultipartPart("password", "s3cret"), #"--form-string "password=$PASSWORD""#),
            (MultipartPart("password", "s3cret\n"), #"--form-string "password=$PASSWORD""#),
            (
                MultipartPart("user[password]", .bytes(Data("s3cret".utf8)), filename: "f", contentType: "a/b"),
                #"-F 'user[password]="'"$USER_PASSWORD"'";type=a/b;filename=f'"#
            ),
            (
                MultipartPart("\npassword", "s3cret"),
                #"--form-string "$(printf '\npassword=')""$PASSWORD""#
            ),
            (part("{\"token\": \"s3cret\"}", type: "a/json"), #"-F 'a="'"$A"'";type=a/json'"#),
            (part("[{\"token\": \"s3cret\"}]"), #"--form-string "a=$A""#),
            (MultipartPart("token", file: URL(filePath: "/f"), contentType: "a/b"), "-F 'token=@/f;type=a/b'"),
        ])
    func `has variables for secret parts`(part: MultipartPart, option: String) throws {
        #expect(try Self.request(part).curlCommand() == "curl 'http://h/' " + option)
    }

    @Test func `numbers the variables of equal names, and has variables for the secrets of the rules`() throws {
        var request = Self.request(MultipartPart("pin", "s3cret"), MultipartPart("pin", "s3cret"))
        request.rules.secrets = ["pin"]
        let options = #"--form-string "pin=$PIN" --form-string "pin=$PIN_2""#
        #expect(try request.curlCommand() == "curl 'http://h/' " + options)
    }

    @Test(
        arguments: [
            (part("a\0b"), "in a file"), (MultipartPart("", "b"), "an empty name"), (MultipartPart("a=b", "c"), "'='"),
            (MultipartPart("a\0", "c"), "a NUL in its name"), (part("b", "c.png"), "'image/png'"),
            (file("/c", "c", type: nil), "'application/octet-stream'"), (file("/c.gif", nil, type: nil), "'image/gif'"),
            (part("b", type: ""), "type/subtype"), (part("b", type: "c"), "type/subtype"),
            (part("b", type: "c/d; filename=e"), "another type"), (file("/c", "c", type: "c/d,e"), "without a ','"),
            (part("b", type: "c/d "), "another type"),
        ])
    func `is refused if curl would send it differently`(part: MultipartPart, reason: String) {
        let error = #expect(throws: RequestError.self) { try Self.request(part).curlCommand() }
        #expect(error?.code == .malformedRequest)
        #expect(error?.message.contains(reason) == true, "\(error?.message ?? "")")
    }

    @Test func `is refused if it has no parts`() {
        let error = #expect(throws: RequestError.self) { try Self.request().curlCommand() }
        #expect(error?.message.contains("add one") == true)
    }

    @Test(arguments: 0..<300 as Range<UInt64>) func `is read back as the same request`(seed: UInt64) throws {
        var random = SplitMix(state: seed)
        let parts = (0...random.below(3)).map { _ in MultipartPart.random(using: &random) }
        let request = Request("http://h/", method: .post, body: .multipart(parts))
        let command = try request.curlCommand()
        #expect(command.isPrintable, "\(command)")
        #expect(try Request(curl: command) == request, "\(command)")
    }
}

extension MultipartPart {
    /// Returns a random part that curl can send, without a NUL.
    fileprivate static func random(using random: inout SplitMix) -> MultipartPart {
        var part = MultipartPart("n" + random.text().withoutEquals, random.text())
        if random.below(3) == 0 { part.filename = random.text() }
        if random.below(3) == 0 {
            part.contentType = random.element(["a/b", "a/b;c=\"d\"", "a/b; c=d,e", "text/plain"])
        }
        switch random.below(4) {
        case 0:
            part.content = .bytes(Data((0..<random.below(30)).map { _ in UInt8(1 + random.below(255)) }))
        case 1:
            part.content = .file(URL(filePath: "/d/" + random.text() + "f"))
            // A file with a name has a type, in which a ',' would begin another file.
            if part.filename != nil { part.contentType = random.element(["a/b", "a/b;c=\"d\""]) }
        default: break
        }
        return part
    }
}

extension String {
    /// Removes each `=`, even one that is followed by a combining mark.
    var withoutEquals: String { String(String.UnicodeScalarView(unicodeScalars.filter { $0 != "=" })) }
}

extension SplitMix {
    fileprivate mutating func element<Element>(_ elements: [Element]) -> Element { elements[below(elements.count)] }

    fileprivate mutating func text() -> String {
        let pieces = [
            "'", "\"", "\\", "$x", "`", "$(rm)", "!", "@", "-", "%s", "<", "=", "(", ";", ",", " ", "ü", "\u{301}", "😀",
            ";type=a/b", "\n", "\r\n", "\t", "\u{1B}", "\u{7F}", "\u{2028}", "\\n",
        ]
        return (0..<below(8)).map { _ in element(pieces) }.joined()
    }
}
