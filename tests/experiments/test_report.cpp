#include <doctest/doctest.h>

#include <algorithm>

#include "engine/files/sha256.hpp"
#include "experiments/framework/figure.hpp"
#include "experiments/framework/html.hpp"

namespace {

using namespace ulp;

StoredResult stored_sample() {
    StoredResult result;
    result.experiment = "sample";
    result.chapter = "Overflow";
    return result;
}

std::string page_of(const std::vector<StoredResult>& results, const std::string& file) {
    const std::vector<ReportPage> pages = report_pages(results);
    const auto found = std::ranges::find(pages, file, &ReportPage::file);
    REQUIRE(found != pages.end());
    return found->html;
}

bool has(const std::string& page, std::string_view text) { return page.find(text) != std::string::npos; }

}  // namespace

TEST_CASE("the report escapes text and shows what was not drawn") {
    StoredResult result = stored_sample();
    result.title = "<b>A & B</b>";
    result.claims = {{"sample.a", "source", "1 < 2", "yes", "yes", Verdict::reproduced}};
    result.figures = {{"curve", "A curve", "", "see", "", ""}};
    const std::string page = page_of({result}, "report-overflow.html");
    CHECK(has(page, "&lt;b&gt;A &amp; B&lt;/b&gt;"));
    CHECK(has(page, "1 &lt; 2"));
    CHECK(has(page, "ulplab report --draw sample"));
    for (const ReportPage& one : report_pages({result})) {
        CHECK_FALSE(has(one.html, "{{"));  // every mark is filled in
        CHECK_FALSE(has(one.html, "src="));
        CHECK_FALSE(has(one.html, "href=\"http"));
    }
}

TEST_CASE("a figure's badge names the weakest thing that it rests on, and an experiment says once what a card saw") {
    StoredResult result = stored_sample();
    result.products = {{"sm_00:mma.fp16.fp32", 12, "abcd"}};
    result.claims = {{"sample.a", "source", "", "", "", Verdict::reproduced, ClaimKind::measured}};
    result.figures = {{"live", "", "", "", "one: verified live; two: recorded; x.", ""},
                      {"formats", "", "", "", "", ""}};
    const auto count = [](const std::string& page, const std::string& text) {
        int found = 0;
        for (std::size_t at = 0; (at = page.find(text, at)) != std::string::npos; ++at) ++found;
        return found;
    };
    const std::string chapter = page_of({result}, "report-overflow.html");
    CHECK(has(chapter, "<span class=\"badge\">units as recorded</span>"));
    CHECK(has(chapter, "<span class=\"badge\">arithmetic alone</span>"));
    CHECK(count(chapter, "never compared with a card") == 1);
    CHECK(count(page_of({result}, "report-register.html"), "never compared") == 0);
    result.products.clear();
    result.experiment = "fusion";
    CHECK(has(page_of({result}, "report-overflow.html"),
              "Seen on a Tensor Core: no product to compare with a card: it multiplies no matrices."));
}

TEST_CASE("the opening shows five figures: the first of each chapter, then the second ones") {
    std::vector<StoredResult> results;
    for (const char* chapter : {"Formats", "Remedies", "Systems"}) {
        results.push_back(stored_sample());
        results.back().chapter = chapter;
        for (int i = 0; i < 6; ++i) {
            results.back().figures.push_back(
                {std::to_string(i), "", "", "", "", "", std::string(chapter) + " headline " + std::to_string(i)});
        }
    }
    const std::string page = page_of(results, "report.html");
    int shown = 0;
    for (std::size_t at = 0; (at = page.find(" headline ", at)) != std::string::npos; ++at) ++shown;
    CHECK(shown == 5);
    for (const char* one : {"Formats headline 1", "Remedies headline 1", "Systems headline 0"}) CHECK(has(page, one));
    CHECK_FALSE(has(page, "Systems headline 1"));
    const std::string systems = page_of(results, "report-systems.html");
    CHECK(has(systems, "<p class=\"topic\">Systems</p>\n<h1>Systems headline 0</h1>"));
    CHECK_FALSE(has(systems, "<h2>Systems headline 0"));  // once
}

TEST_CASE("the opening answers from the comparisons with fp32, and powers are raised in sentences") {
    StoredResult result = stored_sample();
    const auto parity = [](const char* id, Verdict verdict) {
        Claim claim{id, "Talk (2019), \"2^-11 and 2^(-24)\"", "", "", "", verdict, ClaimKind::measured};
        claim.parity = ParityInterval{};
        return claim;
    };
    result.claims = {parity("sample.a", Verdict::reproduced), parity("sample.b", Verdict::refuted),
                     parity("sample.c", Verdict::undecided)};
    const std::string page = page_of({result}, "report.html");
    CHECK(has(page,
              "Yet in 1 of 3 comparisons training learns as well as in fp32, in 1 it does not, in 1 "
              "the seeds do not decide"));
    CHECK(has(page, "2<sup>-11</sup> and 2<sup>-24</sup>"));
    CHECK(prose_html("2^-11.5. a^2, x^ 2^(3 & 4^") == "2<sup>-11.5</sup>. a<sup>2</sup>, x^ 2^(3 &amp; 4^");
    CHECK(with_powers("2^e to 2^(e+1), 2^(M-F), 2^exponent") ==
          "2<sup>e</sup> to 2<sup>e+1</sup>, 2<sup>M-F</sup>, 2^exponent");
    CHECK(with_powers("<p>2^3 <code>2^3</code> <a href=\"2^3\">2^-4</a></p>") ==
          "<p>2<sup>3</sup> <code>2^3</code> <a href=\"2^3\">2<sup>-4</sup></a></p>");
}

TEST_CASE("the report takes nothing from a record for more than text") {
    StoredResult result = stored_sample();
    result.title = "{{register}}";
    result.version = result.mode = result.finished = result.digest = "<i>";
    result.claims = {{"<i>", "<i>", "<i>", "<i>", "<i>", Verdict::refuted}};
    result.figures = {{"a", "A", "", "<i>", "<i>", "<svg viewBox=\"0 0 9 6\"><script>x()</script></svg>", "<i>"},
                      {"b", "B", "", "", "", "<svg viewBox=\"0 0 9 6\"></svg><form>"}};
    CHECK(has(page_of({result}, "report-overflow.html"), "<p class=\"topic\">{{register}}</p>"));
    for (const ReportPage& page : report_pages({result})) {
        CHECK_FALSE(has(page.html, "<i>"));
        CHECK_FALSE(has(page.html, "<form"));
        CHECK_FALSE(has(page.html, "x()"));
    }
}

TEST_CASE("a drawing in the report holds shapes and text, and leads nowhere") {
    const auto shown = [](const std::string& inside) {
        StoredResult result = stored_sample();
        result.figures = {{"a", "A", "", "", "", "<svg viewBox=\"0 0 9 6\">" + inside + "</svg>", ""}};
        return !has(page_of({result}, "report-overflow.html"), "This file holds no drawing");
    };
    CHECK(shown("<title>Gnuplot</title><g id=\"a\" fill='url(#p)'><path d='M1,2'/><text>a &lt; b</text></g>"));
    CHECK(shown("<polygon fill = 'rgb(0, 114, 178)' fill-opacity = '0.18' points = '1,2 3,4'/>"));
    CHECK(shown("<use xlink:href='#gpPt5' id='gpPt6'/><image x='1' xlink:href='data:image/png;base64,AAAA'/>"));
    for (const char* inside :
         {"<rect onclick=\"x()\" width=\"9\"/>", "<a xlink:href=\"https://a.example/\"><rect/></a>",
          "<meta http-equiv=\"refresh\" content=\"0;url=https://a.example/\">", "<p>text", "<svg/onload=x()>",
          "<style>p { display: none }</style>", "<image xlink:href=\"https://a.example/a.png\"/>",
          "<use xlink:href=\"https://a.example/a.svg#a\"/>", "<rect style=\"fill:url(https://a.example/)\"/>",
          "<rect fill=\"url(https://a.example/)\"/>", "<animate attributeName=\"href\" values=\"x\"/>",
          "<![CDATA[<b>]]>", "<!-- -->", "<rect x=1/>", "<rect x='1", "<rect"}) {
        INFO(inside);
        CHECK_FALSE(shown(inside));
    }
}

TEST_CASE("the report gives the command that makes a result again") {
    StoredResult result = stored_sample();
    result.mode = "quick";
    result.seed = 3;
    CHECK(has(page_of({result}, "report-overflow.html"), "<code>ulplab run sample --seed 3</code>"));
    result.mode = "smoke";
    result.backend = "soft:v100";
    result.changed_settings = {{"length", "<9>"}};
    CHECK(has(page_of({result}, "report-overflow.html"),
              "<code>ulplab run sample --smoke --seed 3 --unit soft:v100 --set length=&lt;9&gt;</code>"));
}

TEST_CASE("a page runs its own script and no other") {
    CHECK(script_hash("abc") == "sha256-ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0=");
    for (const ReportPage& page : report_pages({stored_sample()})) {
        const std::size_t start = page.html.find("<script>") + 8;
        const std::string script = page.html.substr(start, page.html.find("</script>") - start);
        CHECK(has(page.html, "default-src 'none'"));
        CHECK(has(page.html, "img-src 'self' data:;"));  // pictures lie in the drawings themselves
        CHECK(has(page.html, "script-src '" + script_hash(script) + "'"));
        CHECK(page.html.find("<script", start) == std::string::npos);
    }
}

TEST_CASE("the report opens with counts, figures that have a sentence, and what the sources get wrong") {
    StoredResult first = stored_sample();
    first.experiment = "first";
    first.figures = {{"one", "One", "", "", "", "<svg viewBox=\"0 0 9 6\"></svg>", "Sums stop at 2048."},
                     {"two", "Two", "", "", "", "<svg viewBox=\"0 0 9 6\"></svg>"}};
    first.claims = {{"first.a", "Talk (2019), \"less than 1\"", "s1", "1", "1", Verdict::refuted},
                    {"first.b", "Talk (2019), \"more than 2\"", "s2", "1", "1", Verdict::refuted},
                    {"first.c", "Talk (2019), \"more than 2\"", "s3", "1", "1", Verdict::inconsistent},
                    {"first.d", "Talk (2019), \"more than 3\"", "s4", "1", "1", Verdict::reproduced}};
    first.claims.front().kind = ClaimKind::measured;
    const std::string page = page_of({first}, "report.html");
    CHECK(has(page, "href=\"report-overflow.html#first-one\""));
    CHECK(has(page, "Sums stop at 2048."));
    CHECK_FALSE(has(page, "first-two"));
    CHECK(has(page, "4 claims</a>: <span>1 <span class=\"verdict reproduced\">"));
    CHECK(has(page_of({first}, "report-register.html"),
              "<tr><th><span class=\"verdict refuted\">refuted</span></th><td>1</td><td>1</td><td>2</td></tr>"));
    CHECK(has(page_of({first}, "report-register.html"), "<th>all</th></tr></thead>"));
    CHECK(page.find("more than 2") < page.find("less than 1"));  // two counter-examples before one
    CHECK_FALSE(has(page, "more than 3"));
    CHECK(has(page, "<span class=\"source\">Talk (2019)</span>"));  // the quotation stands before it
    const std::string wrong = page_of({first}, "report-sources.html");
    CHECK(wrong.find("<h2>&quot;more than 2&quot;</h2>") < wrong.find("s2"));
    CHECK(wrong.find("s3") < wrong.find("<h2>&quot;less than 1&quot;</h2>"));
    CHECK(has(wrong, "href=\"report-register.html#first.c\""));
    CHECK_FALSE(has(wrong, "first.d"));
    first.claims.push_back(
        {"first.e", "Predictions of this laboratory, \"as fp32\"", "s5", "1", "1", Verdict::refuted});
    CHECK_FALSE(has(page_of({first}, "report.html"), "as fp32"));  // no source is wrong
    const std::string more = page_of({first}, "report-sources.html");
    CHECK(more.find("less than 1") < more.find("as fp32"));
}

TEST_CASE("the report has a page for each chapter and a register of all claims by document") {
    StoredResult first = stored_sample();
    first.experiment = "first";
    first.claims = {{"first.a", "Talk (2019), \"slide <7>\"", "s1", "1", "1", Verdict::reproduced},
                    {"first.b", "Paper (2020), section 2", "s2", "2", "3", Verdict::refuted}};
    StoredResult second = first;
    second.experiment = "second";
    second.chapter = "Hardware";
    second.claims = {{"second.c", "Talk (2019), \"slide 8\"", "s3", "8x", "not measured: x", Verdict::quoted}};
    CHECK(has(page_of({first, second}, "report-overflow.html"), "does not come back"));
    CHECK(has(page_of({first, second}, "report-overflow.html"), "href=\"report-hardware.html\""));
    CHECK(has(page_of({first, second}, "report-hardware.html"), "<section id=\"second\" class=\"finding\">"));
    const std::string table = page_of({first, second}, "report-register.html");
    CHECK(table.find("<summary>Talk (2019)") < table.find("id=\"second.c\""));
    CHECK(table.find("id=\"second.c\"") < table.find("<summary>Paper (2020)"));
    CHECK(has(table, "&quot;slide &lt;7&gt;&quot; &middot; <a href=\"report-overflow.html#first\">"));
    CHECK(has(table, "class=\"verdict quoted\">quoted only"));
    CHECK(has(table, "section 2 &middot;"));
    CHECK(has(page_of({first, second}, "report.html"), "<span class=\"source\">Paper (2020), section 2</span>"));
}

TEST_CASE(
    "a chapter shows of each experiment the finding and the first figure, and what stands behind its units once") {
    StoredResult result = stored_sample();
    const std::string unit = "one, fp16->fp32 (sm_90:mma.fp16.fp32)";
    result.evidence = {unit + ": ordinary values: verified live"};
    for (int i = 0; i < 9; ++i) {
        result.figures.push_back({"f" + std::to_string(i), "T", "set so", "A. B. C. D.", unit + ": verified live", ""});
    }
    const std::string page = page_of({result}, "report-overflow.html");
    CHECK(page.find("id=\"sample-f0\"") < page.find("<details class=\"more\"><summary>8 more figures, 0 claims"));
    CHECK(page.find("id=\"sample-f1\"") > page.find("<details class=\"more\">"));
    CHECK(page.find("ordinary values") == page.rfind("ordinary values"));
    CHECK(has(page, "<p>A. B. C.</p>\n<details class=\"evidence\"><summary><span class=\"badge\">units verified live"));
    CHECK(has(page,
              "<p>D.</p>\n<p><a href=\"#evidence\">Setting and units</a></p>\n<p class=\"source\">Units: one, "
              "fp16-&gt;fp32 (sm_90:mma.fp16.fp32). <a href=\"#evidence\">"));
    CHECK(has(page, "<li>9 figures: set so</li>"));
    result.experiment = "overflow";
    result.claims = {{"overflow.norm_fp16_overflow", "s", "It overflows.", "", "3 fours", Verdict::undecided}};
    CHECK(has(page_of({result}, "report-overflow.html"),
              "<h2><span class=\"verdict undecided\">undecided</span>: It overflows. <span class=\"value\">3 "
              "fours</span></h2>"));
}

TEST_CASE("the opening names what was not run, and what another version ran") {
    StoredResult result = stored_sample();
    result.experiment = "overflow";
    result.mode = "quick";
    result.version = "0.0.1";
    const std::string page = page_of({result}, "report.html");
    CHECK(has(page, "Of another version of ulplab: 1 of "));
    CHECK(has(page, "<code>ulplab run overflow</code>"));
    CHECK(has(page, "Not run here: "));
    CHECK(has(page, "1 quick run of experiments"));
}

TEST_CASE("a drawing has the names of its curves as text, and a format its colour in every figure") {
    StoredResult result = stored_sample();
    const std::string curve = "\" ><title>fp16</title><g stroke=\"rgb(1,2,3)\"><path stroke='rgb(213,94,0)'/></g></g>";
    result.figures = {
        {"one", "One", "", "", "",
         "<svg viewBox=\"0 0 9 6\"><g id=\"gnuplot_plot_1" + curve + "<g id=\"gnuplot_plot_2" + curve + "</svg>"}};
    const std::string page = page_of({result}, "report-overflow.html");
    CHECK(has(page, "<span class=\"key\">\n<span style=\"border-color:rgb(213,94,0)\">fp16</span>\n</span>"));
    result.figures.front().svg.insert(result.figures.front().svg.find("<g id"), "<text>fp16</text>");
    CHECK_FALSE(has(page_of({result}, "report-overflow.html"), "<span class=\"key\">"));  // at the curve's end
    const std::string other =
        "<g id=\"gnuplot_plot_1\" ><title>fp16 with masters minus fp32</title><path stroke='rgb(1,1,1)'/>";
    result.figures.front().svg = "<svg viewBox=\"0 0 9 6\"><text>fp16 with</text>" + other + "</g></svg>";
    CHECK(has(page_of({result}, "report-overflow.html"), "<span class=\"key\">"));
    result.figures.front().svg.insert(result.figures.front().svg.find("<g id"), "<text>masters</text>");
    CHECK_FALSE(has(page_of({result}, "report-overflow.html"), "<span class=\"key\">"));  // there in two lines
    CHECK(colours_of({"fp16", "fp32", "bf16"}) == std::vector{2, 8, 1});
    CHECK(colours_of({"bf16", "x", "fp16", "bf16 again"}) == std::vector{1, 9, 2, 5});
    CHECK(colours_of({"a", "TF32"}, {9}) == std::vector{5, 6});
    CHECK(prose_html("`a^2` and `b") == "<code>a^2</code> and `b");
}

TEST_CASE("a drawing in the report takes the page's text colour and ids of its own") {
    StoredResult result = stored_sample();
    const std::string svg =
        "<?xml?><svg viewBox=\"0 0 9 6\"><g id='gpDot' stroke=\"black\"/><g fill=\"rgb(0,0,1)\"/>"
        "<g id=\"gnuplot_plot_1\"/></svg>";
    result.figures = {{"one", "One", "", "", "", svg}, {"two", "Two", "", "", "", svg}};
    const std::string page = page_of({result}, "report-overflow.html");
    CHECK(has(page, "id='sample_one_gpDot' stroke=\"currentColor\""));
    CHECK(has(page, "id='sample_two_gpDot'"));
    CHECK(has(page, "id=\"sample_two_gnuplot_plot_1\""));
    CHECK(has(page, "fill=\"currentColor\" class=\"tick\""));
    CHECK(has(page, "viewBox=\"0 0 9 6\""));
    CHECK_FALSE(has(page, "<?xml"));
}
