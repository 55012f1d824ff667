// Reads a JSON array of Markdown texts on stdin; writes [{marked, remark}] with their HTML.
import { text as readAll } from 'node:stream/consumers';
import { Marked } from 'marked';
import rehypeStringify from 'rehype-stringify';
import remarkGfm from 'remark-gfm';
import remarkParse from 'remark-parse';
import remarkRehype from 'remark-rehype';
import { unified } from 'unified';

const marked = new Marked({ gfm: true });
const remark = unified()
  .use(remarkParse)
  .use(remarkGfm)
  .use(remarkRehype, { allowDangerousHtml: true })
  .use(rehypeStringify, { allowDangerousHtml: true })
  .freeze();

const texts = JSON.parse(await readAll(process.stdin));

// A renderer that fails on a text shows nothing of it.
function rendered(render) {
  try {
    return render();
  } catch (error) {
    return `<p>not rendered: ${error.name}</p>`;
  }
}

const pages = texts.map((text) => ({
  marked: rendered(() => marked.parse(text)),
  remark: rendered(() => String(remark.processSync(text))),
}));
process.stdout.write(JSON.stringify(pages));
